// GEMM as a sum of outer products. Nothing is packed: all tiles of a block of C read a segment of k in place, which
// stays in L1, and partial sums are carried from segment to segment.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/micro_kernels.h"
#include "routines/gemm/args.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::kContractBlock;

template <class T>
class Outer {
 public:
  Outer(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
        const EpilogueFn* epilogue)
      : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), epilogue_(epilogue) {}

  void run() {
    int64_t threads = runtime::num_threads(), down = 1, across = 1;
    // The largest blocks for which threads are balanced.
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 64}, {32, 64}, {32, 32}, {16, 32}}) {
      down = std::max<int64_t>(1, m_ / rows), across = std::max<int64_t>(1, n_ / columns);
      if (10 * round_up(down * across, threads) <= 11 * down * across) break;
    }
    auto split = [](int64_t size, int64_t at, int64_t of, int64_t unit) {
      return at == of ? size : size * at / of / unit * unit;
    };
    runtime::parallel_for(
        down * across,
        [&](int64_t begin, int64_t end) {
          for (int64_t at = begin; at < end; ++at) {
            int64_t i = at / across, j = at % across;
            piece(split(m_, i, down, mr_), split(m_, i + 1, down, mr_), split(n_, j, across, lanes_),
                  split(n_, j + 1, across, lanes_));
          }
        },
        std::max<int64_t>(1, kTaskFlops / (2 * m_ * n_ / (down * across) * k_ + 1)));
  }

 private:
  static constexpr int64_t kStretchBytes = 64 << 10;

  // A panel of columns. The panels of a block overlap if its width is no multiple of a vector; likewise its rows of
  // tiles.
  struct Panel {
    int64_t j, vectors;
  };
  std::vector<Panel> panels(int64_t first, int64_t last) const {
    std::vector<Panel> out;
    for (int64_t j = first, most = std::min(kern_.columns, last - first) / lanes_; j < last;) {
      int64_t left = pieces(last - j, lanes_), vectors = left <= most ? left : left == most + 1 && most > 2 ? 2 : most;
      j = std::min(j, last - vectors * lanes_);
      out.push_back({j, vectors});
      j += vectors * lanes_;
    }
    return out;
  }

  void piece(int64_t first_row, int64_t last_row, int64_t first_column, int64_t last_column) {
    std::vector<Panel> columns = panels(first_column, last_column);
    int64_t height = pieces(last_row - first_row, mr_), width = std::ssize(columns), tile = mr_ * kern_.columns;
    auto row = [&](int64_t r) { return std::min(first_row + r * mr_, last_row - mr_); };
    T* carried = scratch<T>(0, 2 * height * width * tile);
    T* totals = carried + height * width * tile;
    int64_t stretch = (a_.k + b_.k) * 128 * int64_t(sizeof(T)) <= kStretchBytes ? 128 : 64;
    bool one_block = k_ <= kContractBlock;
    for (int64_t l = 0, depth; l < k_; l += depth) {
      int64_t block = l / block_ * block_, block_end = std::min(k_, block + block_);
      depth = std::min(stretch, block_end - l);
      for (int64_t at = 0; at < height * width; ++at) {
        int64_t r = at / width, p = at % width, i = row(r);
        auto [j, vectors] = columns[p];
        Carried<T> to{
            carried + at * tile, nullptr, n_, l == block, block == 0, reinterpret_cast<const std::byte*>(a_.data), 0};
        if (l + depth == block_end) {
          if (one_block)
            to.c = c_ + i * n_ + j;
          else
            to.c = totals + at * tile, to.ldc = vectors * lanes_;
        }
        // The first tiles prefetch the next segment of k, one panel each.
        if (l + 2 * depth <= k_ && at < height + width) {
          const MatrixView<T>& of = at < height ? a_ : b_;
          to.line =
              reinterpret_cast<const std::byte*>(of.at(at < height ? row(at) : columns[at - height].j, l + depth));
          to.step = of.k * int64_t(sizeof(T));
        }
        kern_.outer[vectors - 1](depth, a_.at(i, l), a_.k, b_.at(j, l), b_.k, to);
        if (l + depth == k_ && !one_block)
          for (int64_t e = 0; e < mr_; ++e)
            std::memcpy(c_ + (i + e) * n_ + j, to.c + e * to.ldc, to.ldc * sizeof(T));
      }
    }
    if (epilogue_) (*epilogue_)({first_row, last_row - first_row, first_column, last_column - first_column});
  }

  const GemmKernels<T>& kern_ = gemm_kernels<T>();
  const int64_t mr_ = kern_.rows, lanes_ = kern_.lanes;
  const MatrixView<T>& a_;
  const MatrixView<T>& b_;
  T* c_;
  int64_t m_, n_, k_, block_ = routines::contract_block(k_);
  const EpilogueFn* epilogue_;
};

}  // namespace

template <class T>
void gemm_outer(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
                const EpilogueFn* epilogue) {
  Outer<T>(a, b, c, m, n, k, epilogue).run();
}

template void gemm_outer(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t,
                         const EpilogueFn*);
template void gemm_outer(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t,
                         const EpilogueFn*);

}  // namespace sheaf::kernels

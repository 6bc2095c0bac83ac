// Reads one operand in place, with tiles that load several k of its rows at once: X[P,K] by Y[K,Q], where Y is packed.
// Threads split P. Rows of narrow elements are widened into a copy, tile by tile.
// - read_a: X is A.
// - read_b: the product of the transposed matrices. X is the columns of B, so B is neither transposed nor packed; sums
//   are [column][row] until a strip of columns is complete.
#include <algorithm>
#include <cstring>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/panels.h"
#include "routines/gemm/args.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

template <class T, class S>
class UnpackedGemm {
 public:
  static UnpackedGemm read_a(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                             const Fusion& fusion) {
    return {a, b, c, m, n, k, false, fusion};
  }
  static UnpackedGemm read_b(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                             const EpilogueFn* epilogue) {
    return {b, a, c, n, m, k, true, {nullptr, epilogue, {}}};
  }

  void run() {
    int64_t blocks = pieces(k_, block_),
            most = std::max<int64_t>(1, (wide_vectors_ ? kPackedElements : kNearElements) / (ld_ * block_)),
            depth = std::min(k_, pieces(blocks, pieces(blocks, most)) * block_);
    packed_ = scratch<T>(0, ld_ * depth);
    if (!transposed_ && depth < k_) x_ = with_rows(x_, fusion_, 0, 0, true);
    for (k_from_ = 0; k_from_ < k_; k_from_ += depth) {
      depth_ = std::min(depth, k_ - k_from_);
      pack_y();
      int64_t groups = pieces(p_, rows_), wanted = runtime::num_threads() * 4;
      int64_t strips =
                  groups <= 2 * wanted ? groups : round_up(std::max(pieces(groups, kStripGroups), wanted), wanted / 4),
              widest = pieces(groups, strips) * rows_;
      runtime::parallel_for(
          strips,
          [&](int64_t begin, int64_t end) {
            for (int64_t at = begin; at < end; ++at) {
              int64_t first = groups * at / strips * rows_, last = std::min(p_, groups * (at + 1) / strips * rows_);
              const bool complete = fusion_.epilogue && k_from_ + depth_ == k_;
              if (!transposed_) {
                rows_of_c(first, last);
                if (complete) (*fusion_.epilogue)({first, last - first, 0, q_});
                continue;
              }
              T* sums = scratch<T>(1, widest * ld_);
              if (k_from_ > 0) transpose(sums, ld_, c_ + first, p_, last - first, q_);
              strip(x_, sums, ld_, first, last);
              transpose(c_ + first, p_, sums, ld_, q_, last - first);
              if (complete) (*fusion_.epilogue)({0, q_, first, last - first});
            }
          },
          std::max<int64_t>(1, kTaskFlops / (2 * q_ * widest * depth_ + 1)));
    }
  }

 private:
  static constexpr int64_t kStripGroups = 16, kMadeBytes = 16 << 10;
  static constexpr int64_t kNearElements = (640 << 10) / sizeof(T);  // of packed Y, so that it stays in L2

  UnpackedGemm(const MatrixView<S>& x, const MatrixView<S>& y, T* c, int64_t p, int64_t q, int64_t k, bool transposed,
               const Fusion& fusion)
      : x_(x),
        y_(y),
        c_(c),
        p_(p),
        q_(q),
        k_(k),
        transposed_(transposed),
        fusion_(fusion),
        ld_(round_up(q, transposed ? wide_ : kern_.lanes)) {}

  // The rows to prefetch: bytes from one row to the next, and along a row for each step of a tile.
  struct Next {
    const std::byte* at = nullptr;
    int64_t row = 0, along = 0;
  };

  bool apart(size_t bytes) const { return x_.minor * sizeof(S) % bytes == 0; }
  static int64_t width() { return gemm_kernels<T>().small_vectors * gemm_kernels<T>().lanes; }
  static void copy_row(T* __restrict to, const S* __restrict from, int64_t n) {
    if constexpr (std::is_same_v<T, S>)
      std::memcpy(to, from, n * sizeof(T));
    else
      widen_rows(1, n, from, n, to, n);
  }

  void pack_y() {
    int64_t panels = pieces(q_, wide_);
    runtime::parallel_for(
        panels * pieces(depth_, block_),
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            int64_t j = task % panels * wide_, l = task / panels * block_, depth = std::min(block_, depth_ - l);
            pack_panel(kern_, packed_ + l * ld_ + j * depth, y_, j, k_from_ + l, std::min(wide_, q_ - j),
                       std::min(wide_, ld_ - j), depth);
          }
        },
        std::max<int64_t>(1, 16384 / (wide_ * std::min(depth_, block_))));
  }

  // Computes rows of C. If a prologue computes the rows of A, takes a few row tiles at a time, which stay in L1, and
  // prefetches the prologue's source of the next ones. Not for wide vectors (see strip).
  void rows_of_c(int64_t first, int64_t last) {
    const bool made = fusion_.prologue && k_from_ == 0;
    const int64_t row_bytes = k_ * int64_t(sizeof(S)),
                  together = made && !wide_vectors_ ? std::max<int64_t>(1, kMadeBytes / (row_bytes * rows_)) * rows_
                                                    : last - first;
    for (int64_t i = first, rows; i < last; i += rows) {
      rows = std::min(together, last - i);
      strip(made ? with_rows(x_, fusion_, i, rows, depth_ < k_) : x_, c_ + i * q_, q_, i, i + rows);
    }
  }

  // Multiplies rows of X by all of Y, to `to`, whose rows are ldc apart. Reads each row from end to end (sequential
  // accesses), except with wide vectors: these would wait for Y, and one block of Y is in a nearer cache than all of
  // it.
  void strip(const MatrixView<S>& x, T* to, int64_t ldc, int64_t first, int64_t last) {
    auto each_group = [&](auto&& f) {
      for (int64_t i = first, rows; i < last; i += rows)
        f(i, rows = kern_.direct_height(last - i));
    };
    const auto& [source, step] = fusion_.source;
    const bool made = fusion_.prologue && k_from_ == 0;
    auto part = [&](int64_t i, int64_t rows, int64_t l, Next next) {
      group(x, to + (i - first) * ldc, ldc, i, rows, next, l, std::min(block_, depth_ - l));
    };
    auto here = [&](int64_t i, int64_t l) {
      return Next{reinterpret_cast<const std::byte*>(x.at(i, k_from_ + l)), x.minor * int64_t(sizeof(S)),
                  kern_.depth * int64_t(sizeof(S))};
    };
    auto below = [&](int64_t i, int64_t l) {
      const int64_t next = i + (made ? last - first : rows_);
      if (next + rows_ > (made ? p_ : last)) return Next{};
      return made ? Next{source ? source + next * step + l * step / k_ : nullptr, step, kern_.depth * step / k_}
                  : here(next, l);
    };
    if (wide_vectors_) {
      for (int64_t l = 0; l < depth_; l += block_)
        each_group([&](int64_t i, int64_t rows) { part(i, rows, l, below(i, l)); });
      return;
    }
    each_group([&](int64_t i, int64_t rows) {
      for (int64_t l = 0; l < depth_; l += block_)
        part(i, rows, l, made ? below(i, l) : l + block_ < depth_ ? here(i, l + block_) : below(i, 0));
    });
  }

  void group(const MatrixView<S>& x, T* to, int64_t ldc, int64_t i, int64_t rows, const Next& next, int64_t l,
             int64_t depth) {
    int64_t tiles = ldc / wide_, whole = tiles * wide_;
    int form = kern_.direct_form(rows);
    const S* rows_of_x = x.at(i, k_from_ + l);
    const T* packed = packed_ + l * ld_;
    bool begin = k_from_ + l == 0;
    Prefetch prefetch{reinterpret_cast<const std::byte*>(rows_of_x), 0, 0, 0, 0};
    const T* from = nullptr;
    int64_t apart = x.minor;
    T* near = leaves_rows_ || copies_rows_ ? scratch<T>(3, rows_ * (depth + kern_.lanes)) : nullptr;
    if constexpr (std::is_same_v<T, S>) from = rows_of_x;
    if (copies_rows_) {
      apart = depth + kern_.lanes;
      for (int64_t r = 0; r < rows; ++r)
        copy_row(near + r * apart, rows_of_x + r * x.minor, depth);
      from = near;
    }
    if (next.at) {
      // Each tile prefetches one of the next rows, or two if there are fewer tiles than rows.
      prefetch.at = next.at;
      prefetch.period = 2 * next.along;
      if (tiles >= rows_)
        prefetch.step = next.along, prefetch.tile = next.row, prefetch.tiles = rows_;
      else
        prefetch.step = next.row, prefetch.tile = 2 * next.row, prefetch.tiles = rows_ / 2;
    }
    kern_.row_tiles[form](tiles, depth, from, apart, leaves_rows_ ? near : nullptr, packed, to, ldc, begin, prefetch);
    // The remainder, a vector at a time.
    int64_t width = std::min(wide_, ld_ - whole);
    for (int64_t j = whole; j < q_; j += kern_.lanes) {
      auto run = [&](T* t, int64_t ld) {
        kern_.by_row[form][0](depth, from, apart, packed + whole * depth + j - whole, width, t, ld, begin);
      };
      if (j + kern_.lanes <= ldc)
        run(to + j, ldc);
      else
        at_edge(to + j, ldc, rows, q_ - j, begin, run);
    }
  }

  const GemmKernels<T>& kern_ = gemm_kernels<T>();
  const int64_t rows_ = kern_.small_rows, wide_ = width();
  const bool wide_vectors_ = kern_.lanes * sizeof(T) > 16;
  MatrixView<S> x_;
  const MatrixView<S>& y_;
  T* c_;
  int64_t p_, q_, k_, block_ = routines::contract_block(k_);
  bool transposed_;
  const Fusion fusion_;
  // Rows at a stride of a multiple of 8 KiB (with many rows, of 4 KiB) map to too few sets of L1: the rows of a tile
  // are copied. If the tiles can copy them during the computation (leaves_rows_), that pays already for 4 KiB, unless
  // all lines of a tile map to one set.
  const bool leaves_rows_ = std::is_same_v<T, S> && kern_.copies_rows && apart(4096) && !apart(16384),
             copies_rows_ = !std::is_same_v<T, S> || (apart(rows_ > 8 ? 4096 : 8192) && !leaves_rows_);
  int64_t ld_;  // leading dimension of packed Y, and of the transposed sums
  T* packed_ = nullptr;
  int64_t k_from_ = 0, depth_ = 0;  // the packed k of Y
};

}  // namespace

template <class T, class S>
void gemm_unpacked_a(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                     const Fusion& fusion) {
  UnpackedGemm<T, S>::read_a(a, b, c, m, n, k, fusion).run();
}
template <class T, class S>
void gemm_unpacked_b(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                     const EpilogueFn* epilogue) {
  UnpackedGemm<T, S>::read_b(a, b, c, m, n, k, epilogue).run();
}

template void gemm_unpacked_a(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t,
                              const Fusion&);
template void gemm_unpacked_a(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t,
                              const Fusion&);
template void gemm_unpacked_a(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t,
                              int64_t, const Fusion&);
template void gemm_unpacked_a(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t, int64_t,
                              const Fusion&);
template void gemm_unpacked_b(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t,
                              const EpilogueFn*);
template void gemm_unpacked_b(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t,
                              const EpilogueFn*);
template void gemm_unpacked_b(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t,
                              int64_t, const EpilogueFn*);
template void gemm_unpacked_b(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t, int64_t,
                              const EpilogueFn*);

}  // namespace sheaf::kernels

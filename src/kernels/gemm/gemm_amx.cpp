// bf16 GEMM on a matrix unit. C is divided into strips of columns by groups of rows; a task computes one such block:
//
//   for each chunk of k            pack the strip of B, which stays in L2
//     for each panel of rows       pack its k
//       for some panels of columns
//         for each block of k      the panel of A stays in L1 during the loop over panels of B
//           for each panel         the micro-kernel adds to four tiles of sums
//         after the last chunk     write the sums to C, row by row, rounded to its dtype
//
// The sums are stored tile after tile, so that the micro-kernel does not depend on the stride of C: rows at a stride of
// a multiple of 4 KiB would share one set of L1.
#include <algorithm>
#include <tuple>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/amx.h"
#include "kernels/tile_grid.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

// Found with bench_gemm on an Emerald Rapids (48 KiB of L1, 2 MiB of L2).
constexpr int64_t kChunk = 1024;  // k of a packed strip of B, at most
constexpr int64_t kBlock =
    256;  // k of a panel of A, at most, so that it stays in the first-level cache with those of B
constexpr int64_t kWritten = 8;  // panels whose sums are written together: they stay in L2

template <class Out>
class AmxGemm {
 public:
  AmxGemm(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, Out* c, int64_t m, int64_t n, int64_t k,
          const Fusion& fusion)
      : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), fusion_(fusion) {}

  void run() {
    choose_grid();
    if (strips_ > 1)
      a_ = with_rows(a_, fusion_, 0, m_, true);
    else if (chunk_ < k_)
      a_ = with_rows(a_, fusion_, 0, 0, true);
    const int64_t tasks = strips_ * groups_, flops = 2 * pieces(m_, groups_) * pieces(n_, strips_) * k_;
    runtime::parallel_for(
        tasks,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t group = task / strips_, strip = task % strips_;
            piece(part_of(row_panels_, group, groups_), part_of(panels_, strip, strips_));
          }
        },
        std::max<int64_t>(1, kTaskFlops / std::max<int64_t>(1, flops)));
  }

 private:
  struct Panels {
    int64_t begin, end;
    int64_t count() const { return end - begin; }
  };
  static Panels part_of(int64_t panels, int64_t part, int64_t parts) {
    return {panels * part / parts, panels * (part + 1) / parts};
  }

  // Chooses the task grid by estimated cycles per k (bench_gemm).
  void choose_grid() {
    constexpr double kTile = 3, kPackA = 2, kPackB = 2.5, kWrite = 400;  // of a panel; of the sums of two panels
    const int64_t most = std::max<int64_t>(1, runtime::host_target().l2_bytes / 2 / (chunk_ * kAmxPanel * 2));
    const TileGrid grid =
        choose_tile_grid(row_panels_, panels_, most, {kTile + kWrite / static_cast<double>(k_), kPackA, kPackB});
    strips_ = grid.strips, groups_ = grid.groups;
  }

  // Computes the block of C with the row panels `rows` and the column panels `columns`.
  void piece(Panels rows, Panels columns) {
    const int64_t panels = columns.count();
    const bool chunks = chunk_ < k_;
    BFloat16* packed_b = scratch<BFloat16>(0, panels * kAmxPanel * chunk_);
    BFloat16* packed_a = scratch<BFloat16>(1, kAmxPanel * chunk_);
    float* sums = scratch<float>(3, kAmxResult * (chunks ? panels * rows.count() : kWritten));
    for (int64_t from = 0; from < k_; from += chunk_) {
      const int64_t depth = std::min(chunk_, k_ - from);
      const bool last = from + depth == k_;
      pack_strip(packed_b, columns, from, depth);
      for (int64_t r = rows.begin; r < rows.end; ++r) {
        const int64_t row = r * kAmxPanel, height = std::min(kAmxPanel, m_ - row);
        const MatrixView<BFloat16> a = from == 0 && strips_ == 1 ? with_rows(a_, fusion_, row, height, chunks) : a_;
        LineCursor nothing;
        kern_.pack_a(packed_a, a, row, from, height, depth, nothing);
        for (int64_t p = 0; p < panels; p += kWritten) {
          const int64_t some = std::min(kWritten, panels - p), column = column_of(columns.begin + p),
                        width = column_of(columns.begin + p + some) - column;
          float* to = sums + (chunks ? ((r - rows.begin) * panels + p) * kAmxResult : 0);
          multiply_panels(packed_a, packed_b + p * chunk_ * kAmxPanel, to, height, some, depth, from == 0);
          if (last) std::get<AmxKernels::Write<Out>>(kern_.write)(c_ + row * n_ + column, n_, to, height, width);
        }
        if (last && fusion_.epilogue)
          (*fusion_.epilogue)(
              {row, height, column_of(columns.begin), column_of(columns.end) - column_of(columns.begin)});
      }
    }
  }

  void multiply_panels(const BFloat16* a, const BFloat16* b, float* sums, int64_t rows, int64_t panels, int64_t depth,
                       bool first) const {
    const auto multiply = kern_.multiply[rows > kAmxRows];
    const int64_t block = round_up(pieces(depth, pieces(depth, kBlock)), kAmxDepth);
    for (int64_t l = 0; l < depth; l += block)
      for (int64_t p = 0; p < panels; ++p)
        multiply(pieces(std::min(block, depth - l), kAmxDepth), a + l * kAmxPanel, b + (p * chunk_ + l) * kAmxPanel,
                 sums + p * kAmxResult, first && l == 0);
  }

  int64_t column_of(int64_t panel) const { return std::min(n_, panel * kAmxPanel); }

  // If rows of B are contiguous, packs a few k of all panels at a time, so that each line is read once. Prefetches the
  // following lines in memory order, since packing a panel reads across that order.
  void pack_strip(BFloat16* to, Panels columns, int64_t from, int64_t depth) const {
    const bool by_rows = b_.minor == 1;
    const int64_t part = by_rows ? kAmxDepth : depth, first = column_of(columns.begin),
                  width = column_of(columns.end) - first;
    LineCursor ahead(by_rows ? MatrixLines::of(b_, first, from + part, width, depth - part)
                             : MatrixLines::of(b_, first + kAmxPanel, from, width - kAmxPanel, depth));
    for (int64_t l = 0; l < depth; l += part)
      for (int64_t p = columns.begin; p < columns.end; ++p)
        kern_.pack_b(to + ((p - columns.begin) * chunk_ + l) * kAmxPanel, b_, p * kAmxPanel, from + l,
                     std::min(kAmxPanel, n_ - p * kAmxPanel), std::min(part, depth - l), ahead);
  }

  const AmxKernels& kern_ = amx_kernels();
  MatrixView<BFloat16> a_;
  const MatrixView<BFloat16>& b_;
  Out* c_;
  int64_t m_, n_, k_;
  const Fusion& fusion_;
  const int64_t chunk_ = round_up(pieces(k_, pieces(k_, kChunk)), kAmxDepth);
  const int64_t panels_ = pieces(n_, kAmxPanel), row_panels_ = pieces(m_, kAmxPanel);
  int64_t strips_ = 1, groups_ = 1;
};

}  // namespace

template <class Out>
void gemm_amx(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, Out* c, int64_t m, int64_t n, int64_t k,
              const Fusion& fusion) {
  AmxGemm<Out>(a, b, c, m, n, k, fusion).run();
}

template void gemm_amx(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t, int64_t,
                       const Fusion&);
template void gemm_amx(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, BFloat16*, int64_t, int64_t, int64_t,
                       const Fusion&);

}  // namespace sheaf::kernels

// Packed GEMM. C is divided into strips of columns by groups of rows; one task computes one such block over all k that
// are packed.
#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/bf16_dot.h"
#include "kernels/gemm/panels.h"
#include "kernels/gemm/select.h"
#include "routines/gemm/args.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::kContractBlock;

constexpr int64_t kBlockRows = 128;        // of packed A at most, to stay in L2 together with a strip of B
constexpr int64_t kLine = 64;              // bytes
constexpr int64_t kPackRows = 32;          // of A in one task of packing, at most
constexpr int64_t kMadeBytes = 128 << 10;  // of rows of A that a prologue computes before they are packed, about
constexpr int64_t kStripPanels = 8, kFewRows = 48;
constexpr int64_t kSpreadBlocks = 4;  // least blocks of k for which B comes from memory

// The most panels of `panel_bytes` in a packed strip of B.
int64_t strip_panels(int64_t panel_bytes, int64_t vector_bytes) {
  const GemmThresholds& limits = gemm_thresholds(vector_bytes);
  return std::clamp(runtime::host_target().l2_bytes / limits.strip_l2_parts / panel_bytes, limits.strip_panels_least,
                    limits.strip_panels_most);
}

// K are the micro-kernels.
template <class T, class S, class K>
class PackedGemm {
 public:
  PackedGemm(const K& kern, const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
             int rank, const Fusion& fusion)
      : kern_(kern), a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), rank_(rank), fusion_(fusion) {}

  void run() {
    int64_t depth = std::min(k_, std::max(block_, kPackedElements / m_ / block_ * block_));
    if (depth < k_) a_ = with_rows(a_, fusion_, 0, 0, true);
    // All rows at once, or in several passes of about the same number: each packs B again.
    const int64_t most = std::max(block_rows_, kPackedElements / depth), goes = pieces(m_, most + most / 4),
                  rows = round_up(pieces(m_, goes), mr_);
    for (rows_from_ = 0; rows_from_ < m_; rows_from_ += rows) {
      rows_ = std::min(rows, m_ - rows_from_);
      for (k_from_ = 0; k_from_ < k_; k_from_ += depth) {
        depth_ = std::min(depth, k_ - k_from_);
        const Grid g = grid();
        apart_ = packs_apart(g);
        call_ = ++calls;
        if (!apart_)
          pack_a();
        else if (k_from_ == 0)
          a_ = with_rows(a_, fusion_, rows_from_, rows_, true);
        multiply(g);
      }
    }
  }

 private:
  using P = typename K::Packed;
  static constexpr bool kDot = K::kTogether > 1, kSame = std::is_same_v<P, S> && !kDot;

  // The panel of B that is packed next; null `from`: none.
  struct Next {
    const S* from = nullptr;
    int64_t depth = 0;
  };

  // Packed rows of A; the blocks of k are consecutive.
  struct PackedRows {
    P* data;
    int64_t first, rows;
  };
  P* packed_at(const PackedRows& a, int64_t row, int64_t l, int64_t depth) const {
    return a.data + l * round_up(a.rows, mr_) + (row - a.first) * held<K>(depth);
  }

  // Packs rows in order, so that a thread packs about those that its tasks will read. If a prologue computes them
  // first, a task packs all k of some rows.
  void pack_a() {
    packed_a_ = {scratch<P>(0, round_up(rows_, mr_) * held<K>(depth_)), 0, rows_};
    const bool makes = fusion_.prologue && k_from_ == 0;
    const int64_t height =
        makes ? std::clamp<int64_t>(kMadeBytes / (k_ * int64_t(sizeof(S)) * mr_), 1, kPackRows / mr_) * mr_
              : kPackRows / mr_ * mr_;
    const int64_t blocks = pieces(depth_, block_), together = makes ? blocks : 1;
    runtime::parallel_for(
        pieces(rows_, height) * (blocks / together),
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin * together; task < end * together; task += together) {
            const int64_t row = task / blocks * height, rows = std::min(height, rows_ - row);
            const MatrixView<S> a = makes ? with_rows(a_, fusion_, rows_from_ + row, rows, depth_ < k_) : a_;
            for (int64_t block = task % blocks; block < task % blocks + together; ++block) {
              const int64_t l = block * block_, depth = std::min(block_, depth_ - l);
              pack_rows(kern_, packed_at(packed_a_, row, l, depth), a, rows_from_ + row, k_from_ + l, rows, depth);
            }
          }
        },
        std::max<int64_t>(1, 16384 / (height * std::min(depth_, block_) * together)));
  }

  // The division of C into tasks: strips of whole panels by groups of whole row tiles. A strip wider than the packed
  // part of B is computed in parts.
  struct Grid {
    int64_t strips, groups, widest;  // widest strip, in panels
  };

  // The grid with the least estimated time, in cycles per k of the thread with the most work: computing tiles, reading
  // A from beyond L2, and packing B. Threads do not end at the same time: on average they wait for part of a task, for
  // more of it with many threads, as some share a core. All strips have nearly equal width. With a rank, returns one of
  // the next best grids, for autotuning.
  Grid grid() const {
    std::vector<std::pair<double, Grid>> others;
    constexpr double kBegin = 4, kFetch = 0.2, kLate = 0.02, kRow = 12;
    double tile = kern_.tile_cycles(), least = std::numeric_limits<double>::infinity();
    int64_t row_tiles = pieces(rows_, mr_), threads = runtime::num_threads();
    const double packing = 16.0 / static_cast<double>(kern_.lanes * sizeof(T)),
                 waiting = threads > 1 ? std::min(1.0, 0.05 + 0.05 * static_cast<double>(threads)) : 0;
    auto task = [&](double wide, double high) {
      return kBegin + wide * high * tile + high * mr_ * kFetch + wide * nr_ * packing;
    };
    Grid best{};
    auto weigh = [&](int64_t strips) {
      int64_t widest = pieces(panels_, strips), before = 0;
      for (int64_t rounds : {1, 2, 3, 4, 6, 8, 12, 16}) {
        if (rounds > 8 && threads < kManyThreads) break;
        int64_t groups = std::clamp<int64_t>(rounds * threads / strips, 1, row_tiles);
        if (std::exchange(before, groups) == groups) continue;
        double largest = task(widest, pieces(row_tiles, groups)),
               usual = task(double(panels_) / strips, double(row_tiles) / groups);
        double cost = std::max(pieces(strips * groups, threads) * usual, largest) + waiting * largest;
        if (cost < least) least = cost, best = {strips, groups, widest};
        if (rank_ > 0) others.push_back({cost, {strips, groups, widest}});
      }
    };
    int64_t before = 0;
    for (int64_t width = std::min(strip_, panels_); width > 0; --width) {
      int64_t strips = pieces(panels_, width), even = std::min(panels_, round_up(strips, threads));
      if (strips > before) weigh(strips);
      if (even > std::max(strips, before)) weigh(even);
      before = even;
    }
    // Few rows: one wide strip for each thread reads rows of B nearly from end to end, which has more memory bandwidth
    // than many short segments (kRow cycles for each). The more threads, the likelier it is that one is late.
    if (rows_ <= kBlockRows && depth_ > block_ && panels_ >= 2 * strip_ * threads) {
      int64_t widest = pieces(panels_, threads);
      double cost = (1 + kLate * threads) * (task(widest, row_tiles) + kRow);
      if (cost < least + kRow * pieces(best.strips * best.groups, threads)) best = {threads, 1, widest};
    }
    if (rank_ < std::ssize(others)) {
      std::nth_element(others.begin(), others.begin() + rank_, others.end(),
                       [](const auto& x, const auto& y) { return x.first < y.first; });
      best = others[rank_].second;
    }
    return best;
  }

  // True if each thread packs the rows of its tasks for itself. With many threads, sharing packed rows (cache lines
  // that move between cores) takes longer than packing some rows twice, unless a thread has few columns to multiply
  // them with.
  bool packs_apart(const Grid& g) const {
    constexpr int64_t kColumns = 256;
    const int64_t threads = runtime::num_threads(), height = pieces(pieces(rows_, mr_), g.groups) * mr_;
    return threads >= kManyThreads && n_ * g.groups >= kColumns * threads &&
           height * depth_ * int64_t(sizeof(P)) <= runtime::host_target().l2_bytes / 2;
  }
  PackedRows packed_apart(int64_t first, int64_t last) const {
    static thread_local std::pair<uint64_t, int64_t> packed{0,
                                                            0};  // call and first row: later tasks may reuse the rows
    const PackedRows to{scratch<P>(0, round_up(last - first, mr_) * held<K>(depth_)), first, last - first};
    if (std::exchange(packed, std::pair(call_, first)) != std::pair(call_, first))
      for (int64_t l = 0; l < depth_; l += block_) {
        const int64_t depth = std::min(block_, depth_ - l);
        pack_rows(kern_, packed_at(to, first, l, depth), a_, rows_from_ + first, k_from_ + l, last - first, depth);
      }
    return to;
  }

  void multiply(const Grid& g) {
    auto [strips, groups, widest] = g;
    int64_t row_tiles = pieces(rows_, mr_);
    spread_prefetches(pieces(row_tiles, groups) - 1);
    int64_t flops = 2 * pieces(rows_, groups) * std::min(widest * nr_, n_) * depth_;
    runtime::parallel_for(
        strips * groups,
        [&, strips = strips, groups = groups, widest = widest](int64_t begin, int64_t end) {
          P* packed_b = scratch<P>(1, kContractBlock * std::min(widest, strip_) * nr_);
          for (int64_t task = begin; task < end; ++task) {
            int64_t group = task / strips, first = row_tiles * group / groups * mr_,
                    last = std::min(rows_, row_tiles * (group + 1) / groups * mr_);
            int64_t strip = task % strips;
            task_of(apart_ ? packed_apart(first, last) : packed_a_, packed_b, first, last, panels_ * strip / strips,
                    panels_ * (strip + 1) / strips);
          }
        },
        std::max<int64_t>(1, kTaskFlops / std::max<int64_t>(1, flops)));
  }

  // A tile of one vector leaves multipliers idle: if the last panel would have only one, it takes a vector from the
  // previous panel.
  int64_t column_of(int64_t panel) const {
    if (panel == panels_) return n_;
    bool narrow =
        kSame && nr_ > 2 * kern_.lanes && panel > 0 && panel == panels_ - 1 && n_ - panel * nr_ <= kern_.lanes;
    return panel * nr_ - (narrow ? kern_.lanes : 0);
  }

  // Runs a task: all strips of B for each block of k in turn. If columns of B are contiguous and rows are few, reads
  // columns from end to end, which is sequential.
  void task_of(const PackedRows& a, P* packed_b, int64_t first_row, int64_t last_row, int64_t first_panel,
               int64_t last_panel) {
    int64_t first_column = column_of(first_panel), last_column = column_of(last_panel),
            panels = last_panel - first_panel, strips = pieces(panels, strip_);
    if (b_.k == 1 && last_row - first_row <= block_rows_) {
      for (int64_t panel = first_panel, told = first_panel; panel < last_panel; ++panel) {
        for (int64_t l = 0; l < depth_; l += block_)
          piece(a, packed_b, first_row, last_row, panel, panel + 1, l, [&](int64_t end) {
            bool more = l + block_ < depth_;
            return more ? panel_at(column_of(panel), l + block_) : panel_at(end, 0);
          });
        if (panel + 1 - told < kStripPanels && panel + 1 < last_panel) continue;
        tell(first_row, last_row - first_row, column_of(told), column_of(panel + 1));
        told = panel + 1;
      }
      return;
    }
    for (int64_t l = 0; l < depth_; l += block_)
      for (int64_t s = 0; s < strips; ++s)
        piece(
            a, packed_b, first_row, last_row, first_panel + panels * s / strips,
            first_panel + panels * (s + 1) / strips, l,
            [&](int64_t j) { return next_panel(j, l, first_column, last_column); }, l + block_ >= depth_);
  }

  // Calls the epilogue if columns [first, last) have the sum over all k.
  void tell(int64_t row, int64_t rows, int64_t first_column, int64_t last_column) const {
    if (fusion_.epilogue && k_from_ + depth_ == k_)
      (*fusion_.epilogue)({rows_from_ + row, rows, first_column, last_column - first_column});
  }

  // Rows of a block if `rows` rows are divided into blocks of about equal height: a remainder of a few rows would read
  // a whole packed strip once more.
  int64_t block_height(int64_t rows) const {
    return round_up(pieces(rows, pieces(rows, block_rows_ + block_rows_ / 4)), mr_);
  }

  // Computes rows by panels for one block of k. `tells`: calls the epilogue for complete blocks of rows.
  template <class F>
  void piece(const PackedRows& a, P* packed_b, int64_t first_row, int64_t last_row, int64_t first_panel,
             int64_t last_panel, int64_t l, F&& next_at, bool tells = false) {
    int64_t first_column = column_of(first_panel), last_column = column_of(last_panel),
            depth = std::min(block_, depth_ - l), height = block_height(last_row - first_row);
    // Few rows reuse a packed panel little: if no tile packs it during the computation, packing whole rows of the strip
    // is faster than panel by panel.
    bool at_once = !kSame && b_.minor == 1 && (kDot || last_row - first_row < kFewRows);
    Prefetch prefetch = prefetching(kDot && at_once ? next_at(last_column) : Next{}, depth, 0);
    if (at_once) pack_columns(kern_, packed_b, b_, first_column, k_from_ + l, last_column - first_column, depth);
    for (int64_t row = first_row; row < last_row; row += height) {
      int64_t rows = std::min(height, last_row - row);
      for (int64_t panel = first_panel; panel < last_panel; ++panel) {
        int64_t j = column_of(panel), end = column_of(panel + 1);
        if (const int64_t below = last_row - row - rows; !kDot && below > 0 && panel + 1 == last_panel)
          prefetch = prefetch_rows(a, row + rows, std::min(height, below), l, depth);
        else if (!kDot || !at_once)
          prefetch = prefetching(row == first_row || (!kDot && panel + 1 == last_panel) ? next_at(end) : Next{}, depth,
                                 (rows - 1) / mr_);
        // If no other block of rows needs the packed panels, all are packed at one address, which stays in the cache.
        const int64_t column = at_once || last_row - first_row > height ? j - first_column : 0;
        panel_tiles(a, packed_b + column * held<K>(depth), row, rows, j, end - j, l, depth,
                    row == first_row && !at_once, prefetch);
      }
      if (tells) tell(row, rows, first_column, last_column);
    }
  }

  // The panel at column j; after the last of a task the next block of k, and after that the next task.
  Next next_panel(int64_t j, int64_t l, int64_t first_column, int64_t last_column) const {
    if (j >= last_column) j = first_column, l += block_;
    if (l >= depth_) j = last_column, l = 0;
    return panel_at(j, l);
  }
  Next panel_at(int64_t j, int64_t l) const {
    return j < n_ ? Next{b_.at(j, k_from_ + l), std::min(block_, depth_ - l)} : Next{};
  }

  // Computes all tiles of a block of rows by one panel of B.
  void panel_tiles(const PackedRows& a, P* packed_b, int64_t row, int64_t rows, int64_t j, int64_t columns, int64_t l,
                   int64_t depth, bool pack_b, Prefetch& prefetch) {
    int64_t vectors = pieces(columns, kern_.lanes), width = vectors * kern_.lanes;
    bool first = k_from_ + l == 0;
    int64_t i = 0;
    if (pack_b) {
      if constexpr (kSame)
        if (b_.minor == 1 && columns == width && (columns == nr_ || vectors == 2) && rows >= mr_) {
          kern_.packing[columns == nr_](depth, packed_at(a, row, l, depth), b_.at(j, k_from_ + l), b_.k, packed_b,
                                        c_ + (rows_from_ + row) * n_ + j, n_, first);
          i = mr_;
        }
      if (i == 0) pack_panel(kern_, packed_b, b_, j, k_from_ + l, columns, width, depth);
    }
    multiply_panel(kern_, packed_at(a, row + i, l, depth), packed_b, c_ + (rows_from_ + row + i) * n_ + j, n_, rows - i,
                   columns, depth, first, prefetch);
  }

  // If few tiles prefetch the rows of a large B, gives each tile the same number of rows, evenly spread. As fast as
  // possible, the prefetches would wait for each other, and the tiles for them.
  void spread_prefetches(int64_t tiles) {
    prefetched_rows_ = 0;
    if constexpr (kSame) {
      const int64_t prefetches = block_ / kern_.prefetch_depth;
      if (!kern_.prefetches_offsets || b_.minor != 1 || rows_ > block_rows_ || depth_ < kSpreadBlocks * block_ ||
          pieces(block_, std::max<int64_t>(tiles, 1)) > prefetches)
        return;
      prefetched_rows_ = pieces(block_, tiles);
      offsets_.assign(prefetches + 2, 0);
      for (int64_t i = 0; i < prefetches; ++i)
        offsets_[i] = i * prefetched_rows_ / prefetches * b_.k * static_cast<int64_t>(sizeof(S));
    }
  }

  // The cursor with which tiles of this depth prefetch the next rows of packed A: other cores may have evicted them
  // from the last-level cache.
  Prefetch prefetch_rows(const PackedRows& a, int64_t row, int64_t rows, int64_t l, int64_t depth) const {
    if constexpr (kDot)
      return prefetching({}, depth, 0);
    else {
      int64_t each = std::max<int64_t>(1, depth / kern_.prefetch_depth) * kLine;
      return {reinterpret_cast<const std::byte*>(packed_at(a, row, l, depth)), kLine, 2 * kLine, each,
              pieces(rows * depth * static_cast<int64_t>(sizeof(P)), each)};
    }
  }

  // The cursor with which `tiles` tiles of this depth prefetch the next panel of B: each some of its rows, or two
  // columns.
  Prefetch prefetching(const Next& next, int64_t depth, int64_t tiles) const {
    int64_t size = sizeof(S), along = b_.k * size, across = b_.minor * size;
    auto at = [](const S* p) { return reinterpret_cast<const std::byte*>(p); };
    if (!next.from) return {at(b_.data), 0, 0, 0, 0};
    if constexpr (kDot) {
      // Some lines of one row after the other, or some columns at a time.
      constexpr int64_t kPrefetches = Bf16DotKernels::kPrefetches;
      int64_t steps = pieces(depth, Bf16DotKernels::kPrefetchDepth);
      if (b_.minor == 1) return {at(next.from), kLine, along, steps * along, pieces(next.depth, steps)};
      return {at(next.from), across, Bf16DotKernels::kPrefetchDepth * along, kPrefetches * across,
              pieces(nr_, kPrefetches)};
    } else {
      // The previous panel has touched the line of a row's first column.
      if (b_.minor == 1) {
        if (prefetched_rows_ > 0 && depth == block_)
          return {at(next.from + nr_ - 1), 0, 0, prefetched_rows_ * along, pieces(next.depth, prefetched_rows_),
                  offsets_.data()};
        int64_t prefetches = depth / kern_.prefetch_depth, rows = prefetches / 2;
        // Spread out, if there are enough tiles: misses to far caches delay accesses to near ones.
        if (tiles * rows >= next.depth)
          return {at(next.from + nr_ - 1), 0, along, rows * along, pieces(next.depth, rows)};
        return {at(next.from + nr_ - 1), along, 2 * along, prefetches * along,
                pieces(next.depth, std::max<int64_t>(1, prefetches))};
      }
      return {at(next.from), across, 2 * kern_.prefetch_depth * along, 2 * across, nr_ / 2};
    }
  }

  const K& kern_;
  const int64_t mr_ = kern_.rows, nr_ = kern_.columns, block_rows_ = kBlockRows / mr_ * mr_;
  MatrixView<S> a_;
  const MatrixView<S>& b_;
  T* c_;
  int64_t m_, n_, k_, block_ = routines::contract_block(k_), panels_ = pieces(n_, nr_);
  int rank_;  // of the grid among the best
  const Fusion& fusion_;
  const int64_t strip_ = kDot && kern_.lanes * sizeof(T) == 16
                             ? kStripPanels
                             : strip_panels(kContractBlock * nr_ * sizeof(P), kern_.lanes * sizeof(T));
  PackedRows packed_a_{};  // shared by all threads, unless each packs its own
  bool apart_ = false;
  uint64_t call_ = 0;
  inline static std::atomic<uint64_t> calls{0};
  int64_t rows_from_ = 0, rows_ = 0, k_from_ = 0, depth_ = 0;  // the packed part of A
  int64_t prefetched_rows_ = 0;                                // of B by each tile, at offsets_; 0: as fast as possible
  std::vector<int64_t> offsets_;
};

}  // namespace

template <class T, class S>
void gemm_packed(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k, int rank,
                 const Fusion& fusion) {
  PackedGemm<T, S, GemmKernels<T>>(gemm_kernels<T>(), a, b, c, m, n, k, rank, fusion).run();
}

void gemm_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t m, int64_t n,
                   int64_t k, const Fusion& fusion) {
  if (is_shallow(m, n, k, sizeof(BFloat16), sizeof(float))) return gemm_shallow_bf16_dot(a, b, c, m, n, k, fusion);
  PackedGemm<float, BFloat16, Bf16DotKernels>(bf16_dot_kernels(), a, b, c, m, n, k, 0, fusion).run();
}

template void gemm_packed(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t, int,
                          const Fusion&);
template void gemm_packed(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t, int,
                          const Fusion&);
template void gemm_packed(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t, int64_t,
                          int, const Fusion&);
template void gemm_packed(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t, int64_t,
                          int, const Fusion&);

}  // namespace sheaf::kernels

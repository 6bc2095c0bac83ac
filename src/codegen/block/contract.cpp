// The contraction, fast: C[M,N] = A[M,K] B[K,N], with the bits of loop/library.cpp's definition.
//
// Forms, by shape:
// - tall: A is packed by all threads, then each task computes a strip of columns, packing its panels of B itself: where rows of
//   B are contiguous as a by-product of the first tile, and while a panel is computed the next one is asked for. Transposed operands
//   only change how packing reads.
// - in place: many rows and few columns, rows of A contiguous, or some rows and columns of B contiguous: that factor is read where it is.
// - thin: nothing or little is reused, so B streams through once where its rows or columns are contiguous (thin.h), otherwise
//   panel by panel through a buffer in the first-level cache.
// - outer: rows of both contiguous along C and not far apart: nothing is packed, sums are carried along k.
// - small: B stays in the first-level cache, A is read where it is.
// - integers: rows of B times elements of A, any order.
// N = 1 is the thin form of the transposed product.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "codegen/block/attention.h"
#include "codegen/block/block.h"
#include "codegen/block/grouped.h"
#include "codegen/block/ordered.h"
#include "codegen/block/packing.h"
#include "codegen/block/quantized.h"
#include "codegen/block/simd.h"
#include "codegen/block/step.h"
#include "codegen/block/thin.h"
#include "codegen/block/tuning.h"
#include "loop/scalar_ops.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen {
namespace block {
namespace {

using loop::kContractBlock;

constexpr int64_t kStreamRows = 32, kStreamRowsPacked = 16, kStreamRowsNarrow = 64, kThinRows = 8;  // at most, in the thin forms; the second where a tile can pack B on its way
template <class S>
constexpr int64_t kTurnedRows = sizeof(S) == 4 ? 8 : 4;  // narrow elements are widened again for each four rows
constexpr int64_t kTurnedMost = 192;                // rows at most where columns of B are read where they are
constexpr int64_t kTurnDepth = 256;                 // from here on copying the result is nothing
constexpr int64_t kFlatMost = 256, kFlatRows = 96;  // columns at most, rows at least where rows of A are
constexpr int64_t kBlockRows = 128;                 // of packed A at most, to stay in the second-level cache beside a strip of B
constexpr int64_t kPackRows = 32;                   // of A in one task of packing, at most
constexpr int64_t kStripPanels = 8, kFewRows = 48;
constexpr int64_t kPackedElements = 1 << 20;        // of A at a time: stays in the last-level cache
constexpr int64_t kMaxRows = 14, kMaxColumns = 32;  // of a packed tile
constexpr int64_t kSmall = 6144;                    // elements of B that stay in the first-level cache with room to spare
constexpr int64_t kSmallInPlace = 16384;            // the same where it need not be packed, with vectors of 16 bytes

// Memory that will be needed soon: asked for at each step of k, moving on by `step` bytes and by what is left of `turn` in turns. The next
// tile begins `tile` bytes further on; after `tiles` of them nothing new is asked for, and nothing that may not exist: looking for
// its page takes long.
struct Ahead {
  const std::byte* at;
  int64_t step, turn, tile, tiles;
  void pass(int64_t done) {
    if ((tiles -= done) > 0) at += done * tile;
    else step = turn = 0;
  }
};

template <class T>
using PackedTiles = void (*)(int64_t tiles, int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first, Ahead ahead);
template <class T>
using TileRow = std::array<PackedTiles<T>, 4>;  // by vectors of columns, less one

// With a and b where they are: tiles of 1, 2, 4 and `small_rows` rows, each of one and of `small_vectors` vectors.
template <class T>
using DirectTile = void (*)(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool first);
template <class T>
using DirectTiles = std::array<std::array<DirectTile<T>, 2>, 4>;

// Where a tile of a sum of outer products begins and ends.
template <class T>
struct Carried {
  T *sums, *c;        // without c the sums wait for more
  int64_t ldc;
  bool begin, first;  // begin: the first k of a block; first: of the first block
  const std::byte* ask;
  int64_t step;
};
template <class T>
using OuterTile = void (*)(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, const Carried<T>& to);

template <class T>
struct Kernels {
  using Packing = void (*)(int64_t k, const T* a, const T* b, int64_t sbk, T* packed, T* c, int64_t ldc, bool first);
  int64_t rows, columns, lanes;
  std::array<TileRow<T>, 4> tiles;        // of 1, 2, 4 and `rows` rows
  std::array<Packing, 2> packing;         // of two vectors, and the largest
  int64_t small_rows, small_vectors;
  DirectTiles<T> by_row, by_column;       // rows of a contiguous, or its columns
  using Turned = void (*)(int64_t tiles, int64_t k, const T* a, int64_t lda, const T* b, T* c, int64_t ldc, bool first, Ahead ahead);
  std::array<Turned, 4> turned;           // by row, several side by side: of 1, 2, 4 and `small_rows` rows
  int64_t depth;                          // k in one step of it
  std::array<OuterTile<T>, 4> outer;      // of `rows` rows, by vectors of columns, less one

  // The tile for so many rows: its place in `tiles`, and the rows it computes.
  int form(int64_t m) const { return m == 1 ? 0 : m == 2 ? 1 : m <= 4 ? 2 : 3; }
  int64_t height(int64_t m) const { return m > 4 ? rows : m > 2 ? 4 : m; }
};

#define SHEAF_KERNELS "codegen/block/gemm_kernels.h"
#include "codegen/block/instruction_sets.h"

// A tile at the edge is computed whole beside C and its part copied.
template <class T, class F>
inline void at_edge(T* c, int64_t ldc, int64_t rows, int64_t columns, bool first, F&& tile) {
  T whole[kMaxRows * kMaxColumns];
  if (!first)
    for (int64_t i = 0; i < rows; ++i) std::memcpy(whole + i * kMaxColumns, c + i * ldc, columns * sizeof(T));
  tile(whole, kMaxColumns);
  for (int64_t i = 0; i < rows; ++i) std::memcpy(c + i * ldc, whole + i * kMaxColumns, columns * sizeof(T));
}

// Packs neighbouring panels of `width`, of which the last may be narrower: dst holds panel after panel, each [k][its width].
template <class T, class S, class Width>
void pack_panels(T* dst, const Operand<S>& src, int64_t i0, int64_t l0, int64_t used, int64_t width, int64_t k, Width&& width_of) {
  // Where the panels' rows are contiguous, a few rows across all panels: each cache line is then read once.
  int64_t part = src.minor == 1 ? 8 : k;
  for (int64_t l = 0; l < k; l += part) {
    if (src.minor == 1)
      for (int64_t r = l + part; r < std::min(k, l + 2 * part); ++r)
        for (int64_t i = 0; i < used; i += 64 / sizeof(S)) __builtin_prefetch(src.at(i0 + i, l0 + r));
    for (int64_t i = 0; i < used; i += width) {
      int64_t here = std::min(width, used - i), w = width_of(here);
      pack(dst + i * k + l * w, src, i0 + i, l0 + l, here, w, std::min(part, k - l));
    }
  }
}

// C in strips of columns by groups of rows: one task computes one such piece over all of the k that are packed.
template <class T, class S>
class Tall {
 public:
  Tall(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k, int place = 0) : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), place_(place) {}

  void run() {
    int64_t depth = std::min(k_, std::max(block_, kPackedElements / m_ / block_ * block_));
    int64_t rows = std::min(m_, std::max(block_rows_, kPackedElements / depth / block_rows_ * block_rows_));
    packed_a_ = scratch<T>(0, round_up(rows, mr_) * depth);
    for (rows_from_ = 0; rows_from_ < m_; rows_from_ += rows) {
      rows_ = std::min(rows, m_ - rows_from_);
      for (k_from_ = 0; k_from_ < k_; k_from_ += depth) {
        depth_ = std::min(depth, k_ - k_from_);
        pack_a();
        multiply();
      }
    }
  }

 private:
  // The panel of B that is packed next; without `from` there is none.
  struct Next {
    const S* from = nullptr;
    int64_t depth = 0;
  };

  T* packed_a(int64_t row, int64_t l, int64_t depth) const { return packed_a_ + l * round_up(rows_, mr_) + row * depth; }

  void pack_a() {
    int64_t height = kPackRows / mr_ * mr_, groups = pieces(rows_, height);
    runtime::parallel_for(groups * pieces(depth_, block_), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        int64_t row = task % groups * height, l = task / groups * block_, depth = std::min(block_, depth_ - l);
        pack_panels(packed_a(row, l, depth), a_, rows_from_ + row, k_from_ + l, std::min(height, rows_ - row), mr_, depth,
                    [&](int64_t used) { return kern_.height(used); });
      }
    }, std::max<int64_t>(1, 16384 / (height * std::min(depth_, block_))));
  }

  // How C is shared out: strips of whole panels by groups of whole tiles of rows, a task each.
  struct Grid {
    int64_t strips, groups, widest;  // the last in panels
  };

  // The grid that is done first, in cycles for each k: tiles, what of A comes from further away than the second-level cache, and packing B, of
  // the thread that does most. Threads do not end together: part of a task is waited for on average. All strips have nearly one width. Or one of the
  // next best, for trying.
  Grid grid() const {
    std::vector<std::pair<double, Grid>> others;
    constexpr double kBegin = 4, kFetch = 0.2, kPack = 1, kWait = 0.15;
    double tile = mr_ * (nr_ / kern_.lanes) / 2.0, least = std::numeric_limits<double>::infinity();
    int64_t row_tiles = pieces(rows_, mr_), threads = runtime::num_threads();
    auto task = [&](double wide, double tall) { return kBegin + wide * tall * tile + tall * mr_ * kFetch + wide * nr_ * kPack; };
    Grid best{};
    auto weigh = [&](int64_t strips) {
      int64_t widest = pieces(panels_, strips), before = 0;
      for (int64_t rounds : {1, 2, 3, 4, 6, 8}) {
        int64_t groups = std::clamp<int64_t>(rounds * threads / strips, 1, row_tiles);
        if (std::exchange(before, groups) == groups) continue;
        double largest = task(widest, pieces(row_tiles, groups)), usual = task(double(panels_) / strips, double(row_tiles) / groups);
        double cost = std::max(pieces(strips * groups, threads) * usual, largest) + (threads > 1 ? kWait * largest : 0);
        if (cost < least) least = cost, best = {strips, groups, widest};
        if (place_ > 0) others.push_back({cost, {strips, groups, widest}});
      }
    };
    int64_t before = 0;
    for (int64_t width = std::min(kStripPanels, panels_); width > 0; --width) {
      int64_t strips = pieces(panels_, width), even = std::min(panels_, round_up(strips, threads));
      if (strips > before) weigh(strips);
      if (even > std::max(strips, before)) weigh(even);
      before = even;
    }
    if (place_ < std::ssize(others)) {
      std::nth_element(others.begin(), others.begin() + place_, others.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
      best = others[place_].second;
    }
    return best;
  }

  void multiply() {
    auto [strips, groups, widest] = grid();
    int64_t row_tiles = pieces(rows_, mr_);
    int64_t flops = 2 * pieces(rows_, groups) * std::min(widest * nr_, n_) * depth_;
    runtime::parallel_for(strips * groups, [&, strips = strips, groups = groups, widest = widest](int64_t begin, int64_t end) {
      T* packed_b = scratch<T>(1, kContractBlock * widest * nr_);
      for (int64_t task = begin; task < end; ++task) {
        int64_t group = task / strips, first = row_tiles * group / groups * mr_, last = std::min(rows_, row_tiles * (group + 1) / groups * mr_);
        int64_t strip = task % strips;
        piece(packed_b, first, last, panels_ * strip / strips, panels_ * (strip + 1) / strips);
      }
    }, std::max<int64_t>(1, kTaskFlops / std::max<int64_t>(1, flops)));
  }

  // A tile of one vector leaves multipliers idle: where one would be left over, the last panel takes a vector of the one before.
  int64_t column_of(int64_t panel) const {
    if (panel == panels_) return n_;
    bool narrow = std::is_same_v<T, S> && nr_ > 2 * kern_.lanes && panel > 0 && panel == panels_ - 1 && n_ - panel * nr_ <= kern_.lanes;
    return panel * nr_ - (narrow ? kern_.lanes : 0);
  }

  void piece(T* packed_b, int64_t first_row, int64_t last_row, int64_t first_panel, int64_t last_panel) {
    int64_t first_column = column_of(first_panel), last_column = column_of(last_panel);
    for (int64_t l = 0; l < depth_; l += block_) {
      int64_t depth = std::min(block_, depth_ - l);
      // Few rows make little of a packed panel: where no tile packs it on its way, whole rows of the strip are read faster than panel by panel.
      bool at_once = !std::is_same_v<T, S> && b_.minor == 1 && last_row - first_row < kFewRows;
      if (at_once)
        pack_panels(packed_b, b_, first_column, k_from_ + l, last_column - first_column, nr_, depth, [&](int64_t used) { return round_up(used, kern_.lanes); });
      for (int64_t row = first_row; row < last_row; row += block_rows_) {
        int64_t rows = std::min(block_rows_, last_row - row);
        for (int64_t panel = first_panel; panel < last_panel; ++panel) {
          int64_t j = column_of(panel), end = column_of(panel + 1);
          Next next = row > first_row ? Next{} : next_panel(end, l, first_column, last_column);
          panel_tiles(packed_b + (j - first_column) * depth, row, rows, j, end - j, l, depth, row == first_row && !at_once, next);
        }
      }
    }
  }

  // The panel at column j; behind the strip the next block of k, and behind that the next strip.
  Next next_panel(int64_t j, int64_t l, int64_t first_column, int64_t last_column) const {
    if (j >= last_column) j = first_column, l += block_;
    if (l >= depth_) j = last_column, l = 0;
    if (j >= n_) return {};
    return {b_.at(j, k_from_ + l), std::min(block_, depth_ - l)};
  }

  // All tiles of a block of rows over one panel of B.
  void panel_tiles(T* packed_b, int64_t row, int64_t rows, int64_t j, int64_t columns, int64_t l, int64_t depth, bool pack_b, const Next& next) {
    int64_t vectors = pieces(columns, kern_.lanes), width = vectors * kern_.lanes;
    bool first = k_from_ + l == 0;
    int64_t i = 0;
    if (pack_b) {
      if constexpr (std::is_same_v<T, S>)
        if (b_.minor == 1 && columns == width && (columns == nr_ || vectors == 2) && rows >= mr_) {
          kern_.packing[columns == nr_](depth, packed_a(row, l, depth), b_.at(j, k_from_ + l), b_.k, packed_b, c_ + (rows_from_ + row) * n_ + j, n_, first);
          i = mr_;
        }
      if (i == 0) pack(packed_b, b_, j, k_from_ + l, columns, width, depth);
    }
    Ahead ahead = asking(next, depth);
    while (i < rows) {
      int64_t used = std::min(mr_, rows - i), tiles = std::max<int64_t>(1, (rows - i) / mr_);
      PackedTiles<T> run = kern_.tiles[kern_.form(used)][vectors - 1];
      T* to = c_ + (rows_from_ + row + i) * n_ + j;
      const T* pa = packed_a(row + i, l, depth);
      if (used == kern_.height(used) && columns == width) {
        run(tiles, depth, pa, packed_b, to, n_, first, ahead);
      } else {
        tiles = 1;
        at_edge(to, n_, used, columns, first, [&](T* t, int64_t ld) { run(1, depth, pa, packed_b, t, ld, first, ahead); });
      }
      ahead.pass(tiles);
      i += tiles * mr_;
    }
  }

  // How tiles of such a depth ask for it: for half of its rows each, or for two columns.
  Ahead asking(const Next& next, int64_t depth) const {
    int64_t size = sizeof(S), along = b_.k * size, across = b_.minor * size;
    auto at = [](const S* p) { return reinterpret_cast<const std::byte*>(p); };
    if (!next.from) return {at(b_.data), 0, 0, 0, 0};
    // The line of a row's first column was touched by the panel before.
    if (b_.minor == 1) return {at(next.from + nr_ - 1), along, along, depth / 2 * along, pieces(2 * next.depth, depth)};
    return {at(next.from), across, 2 * along, 2 * across, nr_ / 2};
  }

  const Kernels<T>& kern_ = kernels<T>();
  const int64_t mr_ = kern_.rows, nr_ = kern_.columns, block_rows_ = kBlockRows / mr_ * mr_;
  const Operand<S>& a_;
  const Operand<S>& b_;
  T* c_;
  int64_t m_, n_, k_, block_ = loop::contract_block(k_), panels_ = pieces(n_, nr_);
  int place_;  // of the grid among the best
  T* packed_a_ = nullptr;
  int64_t rows_from_ = 0, rows_ = 0, k_from_ = 0, depth_ = 0;  // what of A is packed
};

// B fits in the first-level cache and k in one block; rows or columns of A are contiguous. Tiles straight from A, and from B too
// where its rows are contiguous and end with a vector.
template <class T>
void small(const Operand<T>& a, const Operand<T>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  const bool in_place = b.minor == 1 && n % kern.lanes == 0;
  int64_t lanes = kern.lanes, wide = kern.small_vectors * lanes, ldb = in_place ? b.k : round_up(n, lanes);
  // Each thread packs for itself: what another has just written takes longer to come.
  static std::atomic<uint64_t> calls{0};
  const uint64_t call = in_place ? 0 : ++calls;
  auto rows_of_b = [&]() -> const T* {
    if (in_place) return b.data;
    static thread_local uint64_t packed_for = 0;
    T* packed = scratch<T>(4, ldb * k);  // nobody else's: a thread may come back to it
    if (std::exchange(packed_for, call) != call) pack(packed, b, 0, 0, n, ldb, k);
    return packed;
  };
  const DirectTiles<T>& tiles = a.k == 1 ? kern.by_row : kern.by_column;
  int64_t lda = a.k == 1 ? a.minor : a.k;
  runtime::parallel_for(pieces(m, kern.small_rows), [&](int64_t begin, int64_t end) {
    int64_t last = std::min(m, end * kern.small_rows);
    const T* pb = rows_of_b();
    for (int64_t i = begin * kern.small_rows; i < last;) {
      int64_t left = last - i, rows = left >= kern.small_rows ? kern.small_rows : left >= 4 ? 4 : left >= 2 ? 2 : 1;
      const auto& tile = tiles[rows == 1 ? 0 : rows == 2 ? 1 : left < kern.small_rows ? 2 : 3];
      const T* pa = a.at(i, 0);
      T* to = c + i * n;
      int64_t j = 0;
      for (; j + wide <= n; j += wide) tile[1](k, pa, lda, pb + j, ldb, to + j, n, true);
      for (; j + lanes <= n; j += lanes) tile[0](k, pa, lda, pb + j, ldb, to + j, n, true);
      if (j < n) at_edge(to + j, n, rows, n - j, true, [&](T* t, int64_t ld) { tile[0](k, pa, lda, pb + j, ldb, t, ld, true); });
      i += rows;
    }
  }, std::max<int64_t>(1, kTaskFlops / (2 * kern.small_rows * n * k + 1)));
}

// One factor is read where it is, by tiles that take several k of its rows at once: X[P,K] by Y[K,Q], of which Y is packed. Threads share P.
// Rows of narrow elements are widened into a copy, tile by tile.
// - flat: many rows, few columns, rows of A contiguous. X is A.
// - turned: some rows, columns of B contiguous: the product of the transposed matrices. X is B's columns, so B is neither turned nor packed, and sums
//   wait as [column][row] until a strip of columns is done.
template <class T, class S>
class InPlace {
 public:
  static InPlace flat(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) { return {a, b, c, m, n, k, false}; }
  static InPlace turned(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) { return {b, a, c, n, m, k, true}; }

  static bool fits_flat(int64_t m, int64_t n, const Operand<S>& a, int64_t least) { return a.k == 1 && m >= least && n >= 2 * width() && n <= kFlatMost; }
  // Few rows would be filled up with too many.
  static bool fits_turned(int64_t m, const Operand<S>& b) { return b.k == 1 && m <= kTurnedMost && 4 * m >= 3 * round_up(m, width()); }

  void run() {
    int64_t depth = std::min(k_, std::max(block_, kPackedElements / ld_ / block_ * block_));
    packed_ = scratch<T>(0, ld_ * depth);
    for (k_from_ = 0; k_from_ < k_; k_from_ += depth) {
      depth_ = std::min(depth, k_ - k_from_);
      pack_y();
      int64_t groups = pieces(p_, rows_), wanted = runtime::num_threads() * 4;
      int64_t strips = groups <= 2 * wanted ? groups : round_up(std::max(pieces(groups, kStripGroups), wanted), wanted / 4), widest = pieces(groups, strips) * rows_;
      runtime::parallel_for(strips, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
          int64_t first = groups * at / strips * rows_, last = std::min(p_, groups * (at + 1) / strips * rows_);
          if (!turned_) {
            strip(c_ + first * q_, q_, first, last);
            continue;
          }
          T* sums = scratch<T>(1, widest * ld_);
          if (k_from_ > 0) transpose(sums, ld_, c_ + first, p_, last - first, q_);
          strip(sums, ld_, first, last);
          transpose(c_ + first, p_, sums, ld_, q_, last - first);
        }
      }, std::max<int64_t>(1, kTaskFlops / (2 * q_ * widest * depth_ + 1)));
    }
  }

 private:
  static constexpr int64_t kStripGroups = 16;

  InPlace(const Operand<S>& x, const Operand<S>& y, T* c, int64_t p, int64_t q, int64_t k, bool turned)
      : x_(x), y_(y), c_(c), p_(p), q_(q), k_(k), turned_(turned), ld_(round_up(q, turned ? wide_ : kern_.lanes)) {}

  static int64_t width() { return kernels<T>().small_vectors * kernels<T>().lanes; }
  static void copy_row(T* __restrict to, const S* __restrict from, int64_t n) {
    if constexpr (std::is_same_v<T, S>) std::memcpy(to, from, n * sizeof(T));
    else
      for (int64_t e = 0; e < n; ++e) to[e] = widen<T>(from[e]);
  }

  void pack_y() {
    int64_t panels = pieces(q_, wide_);
    runtime::parallel_for(panels * pieces(depth_, block_), [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        int64_t j = task % panels * wide_, l = task / panels * block_, depth = std::min(block_, depth_ - l);
        pack(packed_ + l * ld_ + j * depth, y_, j, k_from_ + l, std::min(wide_, q_ - j), std::min(wide_, ld_ - j), depth);
      }
    }, std::max<int64_t>(1, 16384 / (wide_ * std::min(depth_, block_))));
  }

  // Rows of X by all of Y, to `to`, whose rows are ldc apart.
  void strip(T* to, int64_t ldc, int64_t first, int64_t last) {
    for (int64_t l = 0; l < depth_; l += block_) {
      int64_t depth = std::min(block_, depth_ - l);
      for (int64_t i = first; i < last;) {
        int64_t left = last - i, rows = left >= rows_ ? rows_ : left >= 4 ? 4 : left >= 2 ? 2 : 1;
        group(to + (i - first) * ldc, ldc, i, rows, left >= 2 * rows_, l, depth);
        i += rows;
      }
    }
  }

  void group(T* to, int64_t ldc, int64_t i, int64_t rows, bool ask, int64_t l, int64_t depth) {
    int64_t tiles = ldc / wide_, whole = tiles * wide_, form = rows == rows_ ? 3 : rows / 2;
    const S* rows_of_x = x_.at(i, k_from_ + l);
    const T* packed = packed_ + l * ld_;
    bool begin = k_from_ + l == 0;
    Ahead ahead{reinterpret_cast<const std::byte*>(rows_of_x), 0, 0, 0, 0};
    const T* from = nullptr;
    int64_t apart = x_.minor;
    if constexpr (std::is_same_v<T, S>) from = rows_of_x;
    if (crowded_ || !std::is_same_v<T, S>) {
      apart = depth + kern_.lanes;
      T* near = scratch<T>(3, rows_ * apart);
      for (int64_t r = 0; r < rows; ++r) copy_row(near + r * apart, rows_of_x + r * x_.minor, depth);
      from = near;
    }
    if (ask) {
      // Each tile asks for one of the next rows, or for two where there are fewer tiles than rows.
      int64_t row = x_.minor * int64_t(sizeof(S)), along = kern_.depth * int64_t(sizeof(S));
      ahead.at += rows_ * row;
      ahead.turn = 2 * along;
      if (tiles >= rows_) ahead.step = along, ahead.tile = row, ahead.tiles = rows_;
      else ahead.step = row, ahead.tile = 2 * row, ahead.tiles = rows_ / 2;
    }
    kern_.turned[form](tiles, depth, from, apart, packed, to, ldc, begin, ahead);
    // What is left, a vector at a time.
    int64_t width = std::min(wide_, ld_ - whole);
    for (int64_t j = whole; j < q_; j += kern_.lanes) {
      auto run = [&](T* t, int64_t ld) { kern_.by_row[form][0](depth, from, apart, packed + whole * depth + j - whole, width, t, ld, begin); };
      if (j + kern_.lanes <= ldc) run(to + j, ldc);
      else at_edge(to + j, ldc, rows, q_ - j, begin, run);
    }
  }

  const Kernels<T>& kern_ = kernels<T>();
  const int64_t rows_ = kern_.small_rows, wide_ = width();
  const Operand<S>& x_;
  const Operand<S>& y_;
  T* c_;
  int64_t p_, q_, k_, block_ = loop::contract_block(k_);
  bool turned_;
  // Rows a multiple of 8 KiB apart share too few sets of the first-level cache: those of a tile are copied.
  bool crowded_ = x_.minor * sizeof(S) % 8192 == 0;
  int64_t ld_;  // of a packed k, and of sums that wait
  T* packed_ = nullptr;
  int64_t k_from_ = 0, depth_ = 0;  // what of Y is packed
};

// Rows of both factors contiguous along C, as in the gradient of a weight: a sum of outer products. Nothing is packed: all tiles of a piece of C read a
// stretch of k, which the first-level cache holds, where it is, and sums are carried from stretch to stretch.
template <class T>
class Outer {
 public:
  Outer(const Operand<T>& a, const Operand<T>& b, T* c, int64_t m, int64_t n, int64_t k) : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k) {}

  // Rows further apart share too few sets of the cache, and the more so the longer they are read. Wide vectors pay for that where C is narrow or low.
  static bool fits(int64_t m, int64_t n, int64_t k, const Operand<T>& a, const Operand<T>& b, bool wide_vectors) {
    const Kernels<T>& kern = kernels<T>();
    int64_t apart = std::max(a.k, b.k) * int64_t(sizeof(T)), most = k > kContractBlock ? 512 : 768;
    if (wide_vectors) most = std::min(m, n) > 192 ? 1024 : k <= kContractBlock ? 4096 : m > n ? 2048 : 1024;
    return a.minor == 1 && b.minor == 1 && m >= 2 * kern.rows && n >= 2 * kern.lanes && apart <= most;
  }

  void run() {
    int64_t threads = runtime::num_threads(), down = 1, across = 1;
    // Large pieces, but as many as keep all threads busy to the end.
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 64}, {32, 64}, {32, 32}, {16, 32}}) {
      down = std::max<int64_t>(1, m_ / rows), across = std::max<int64_t>(1, n_ / columns);
      if (10 * round_up(down * across, threads) <= 11 * down * across) break;
    }
    auto split = [](int64_t size, int64_t at, int64_t of, int64_t unit) { return at == of ? size : size * at / of / unit * unit; };
    runtime::parallel_for(down * across, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        int64_t i = at / across, j = at % across;
        piece(split(m_, i, down, mr_), split(m_, i + 1, down, mr_), split(n_, j, across, lanes_), split(n_, j + 1, across, lanes_));
      }
    }, std::max<int64_t>(1, kTaskFlops / (2 * m_ * n_ / (down * across) * k_ + 1)));
  }

 private:
  static constexpr int64_t kStretchBytes = 64 << 10;

  // A panel of columns. Those of a piece overlap where its width is no multiple of a vector, and so do its rows of tiles.
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
        Carried<T> to{carried + at * tile, nullptr, n_, l == block, block == 0, reinterpret_cast<const std::byte*>(a_.data), 0};
        if (l + depth == block_end) {
          if (one_block) to.c = c_ + i * n_ + j;
          else to.c = totals + at * tile, to.ldc = vectors * lanes_;
        }
        // The first tiles ask for the next stretch, a panel each.
        if (l + 2 * depth <= k_ && at < height + width) {
          const Operand<T>& of = at < height ? a_ : b_;
          to.ask = reinterpret_cast<const std::byte*>(of.at(at < height ? row(at) : columns[at - height].j, l + depth));
          to.step = of.k * int64_t(sizeof(T));
        }
        kern_.outer[vectors - 1](depth, a_.at(i, l), a_.k, b_.at(j, l), b_.k, to);
        if (l + depth == k_ && !one_block)
          for (int64_t e = 0; e < mr_; ++e) std::memcpy(c_ + (i + e) * n_ + j, to.c + e * to.ldc, to.ldc * sizeof(T));
      }
    }
  }

  const Kernels<T>& kern_ = kernels<T>();
  const int64_t mr_ = kern_.rows, lanes_ = kern_.lanes;
  const Operand<T>& a_;
  const Operand<T>& b_;
  T* c_;
  int64_t m_, n_, k_, block_ = loop::contract_block(k_);
};

// Few rows, B in any order: panels pass through the first-level cache.
template <class T, class S>
void thin_packed(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  int64_t nr = kern.columns, panels = pieces(n, nr), block = loop::contract_block(k);
  int64_t mr = kern.height(m);
  auto tile = kern.tiles[kern.form(m)][nr / kern.lanes - 1];
  int64_t groups = pieces(m, mr);
  Ahead nothing{reinterpret_cast<const std::byte*>(a.data), 0, 0, 0, 0};
  T* packed_a = scratch<T>(0, groups * mr * k);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t l0 = 0; l0 < k; l0 += block)
      pack(packed_a + g * mr * k + l0 * mr, a, g * mr, l0, std::min(mr, m - g * mr), mr, std::min(block, k - l0));
  runtime::parallel_for(panels, [&](int64_t begin, int64_t end) {
    T* packed_b = scratch<T>(1, kContractBlock * nr);
    for (int64_t p = begin; p < end; ++p)
      for (int64_t l0 = 0; l0 < k; l0 += block) {
        int64_t depth = std::min(block, k - l0), columns = std::min(nr, n - p * nr);
        if (m == 1) {
          T sums[loop::kRowChains * kMaxColumns] = {}, x[kContractBlock], *to = c + p * nr;
          const int64_t each = loop::contract_run(sizeof(S), k);
          for (int64_t chain = 0; chain < loop::kRowChains; ++chain) {
            int64_t length = 0;
            for (int64_t l = chain * each, run; l < depth; l += loop::kRowChains * each, length += run) {
              run = std::min(each, depth - l);
              std::copy_n(packed_a + l0 + l, run, x + length);
              pack(packed_b + length * nr, b, p * nr, l0 + l, columns, nr, run);
            }
            if (length > 0) tile(1, length, x, packed_b, sums + chain * nr, nr, true, nothing);
          }
          for (int64_t e = 0; e < columns; ++e) to[e] = (l0 == 0 ? T(0) : to[e]) + loop::sum_of_chains(sums + e, nr);
          continue;
        }
        pack(packed_b, b, p * nr, l0, columns, nr, depth);
        for (int64_t g = 0; g < groups; ++g) {
          int64_t rows = std::min(mr, m - g * mr);
          T* to = c + g * mr * n + p * nr;
          const T* pa = packed_a + g * mr * k + l0 * mr;
          if (rows == mr && columns == nr) tile(1, depth, pa, packed_b, to, n, l0 == 0, nothing);
          else at_edge(to, n, rows, columns, l0 == 0, [&](T* t, int64_t ld) { tile(1, depth, pa, packed_b, t, ld, l0 == 0, nothing); });
        }
      }
  }, std::max<int64_t>(1, kTaskFlops / (8 * nr * k + 1)));
}

// The ways to a product. Each gives the same bits; which is the fastest depends on the shape, the strides and the machine.
enum class Form : uint8_t { Flat, Small, Stream, Turned, Outer, Swapped, Tall, Tall2, Tall3, Tall4, ThinTurned, ThinPacked };
constexpr std::string_view kFormNames[] = {"flat", "small", "stream", "turned", "outer", "swapped", "tall", "tall-2", "tall-3", "tall-4", "thin-turned", "thin-packed"};
constexpr int64_t kTunedFlops = 1 << 14;  // a smaller product is over before a choice is looked up

template <class T, class S>
class Product {
 public:
  Product(Operand<S> a, Operand<S> b, T* c, int64_t m, int64_t n, int64_t k) : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k) {
    if (n == 1 && m > 1) {
      std::swap(a_, b_);
      std::swap(m_, n_);
    }
  }

  void run(bool alone) { run(alone && tuning() && m_ * n_ * k_ >= kTunedFlops ? fastest() : usual()); }

 private:
  static constexpr bool kSame = std::is_same_v<T, S>;
  static constexpr DType kDType = std::is_same_v<S, float> ? DType::F32 : std::is_same_v<S, double> ? DType::F64 : std::is_same_v<S, BFloat16> ? DType::BF16 : DType::F16;

  // Limits are where one way begins to be faster than another (--max-autotune shows it), with vectors of 16 bytes and with wider ones, whose tiles are larger.
  static constexpr int64_t kNear = 1 << 18;  // elements of B that the second-level cache holds
  static bool wide_vectors() { return kernels<T>().lanes * sizeof(T) > 16; }

  Form usual() const {
    if (m_ == 1 && can(Form::ThinTurned)) return Form::ThinTurned;
    bool turned_b = m_ > kThinRows && InPlace<T, S>::fits_turned(m_, b_);
    if constexpr (kSame) {
      if (fits_small()) return Form::Small;
      if (InPlace<T, S>::fits_flat(m_, n_, a_, least_flat_rows())) return Form::Flat;
      if (Outer<T>::fits(m_, n_, k_, a_, b_, wide_vectors())) return Form::Outer;
      if (can(Form::Small) && n_ * k_ <= kSmall && !turned_b) return Form::Small;
    }
    if (!kSame && n_ <= kFlatMost / 2 && InPlace<T, S>::fits_flat(m_, n_, a_, kFlatRows)) return Form::Flat;
    if (turned_b) return Form::Turned;
    // A panel whose rows are a multiple of 8 KiB apart falls into few sets of the second-level cache, and streaming it pays for longer. What stays in
    // that cache is packed sooner.
    bool packs_well = kSame && b_.k * sizeof(S) % 8192 != 0, near = kSame && n_ * k_ <= kNear;
    if (m_ <= (near ? (wide_vectors() ? 12 : kThinRows) : packs_well ? kStreamRowsPacked : kSame ? kStreamRows : kStreamRowsNarrow) && can(Form::Stream)) return Form::Stream;
    // Of two factors with contiguous rows the wide one is better packed on the way.
    if (kSame && m_ > n_ && n_ <= kFlatMost && k_ >= kTurnDepth && can(Form::Swapped)) return Form::Swapped;
    if (can(Form::Tall)) return Form::Tall;
    return can(Form::ThinTurned) ? Form::ThinTurned : Form::ThinPacked;
  }

  // Elements of a B that tiles read where it is. Wide ones have so many rows that the second-level cache, too, gives it in time.
  static int64_t in_place_most() {
    int64_t vector = kernels<T>().lanes * sizeof(T);
    return vector <= 16 ? kSmallInPlace : (vector <= 32 ? 192 << 10 : 640 << 10) / int64_t(sizeof(T));
  }

  bool fits_small() const {
    constexpr int64_t kRows = 256, kColumns = 64;  // of A, and of a turned A with more k than that
    bool whole = n_ % kernels<T>().lanes == 0;
    if (!can(Form::Small) || n_ * k_ > in_place_most()) return false;
    if (wide_vectors()) {
      if (b_.minor != 1 || !whole) return (a_.k == 1 || b_.minor != 1) && m_ >= 2 * kColumns * runtime::num_threads();  // each thread packs it
      return a_.k == 1 || m_ <= (k_ <= 2 * kColumns ? 4 * kRows : kRows);
    }
    return b_.minor == 1 && whole && m_ <= (a_.k == 1 || k_ <= kColumns ? kRows : kColumns);
  }

  // From how many rows on A is read where it is. Fewer pay where packing it would take its time: for few columns, or for many k.
  int64_t least_flat_rows() const {
    if (wide_vectors()) return n_ > kFlatMost / 2 ? 512 : k_ >= kTurnDepth && n_ % (2 * kernels<T>().lanes) == 0 ? 48 : kFlatRows;
    bool narrow = n_ <= 64;
    if (b_.minor == 1 && narrow && n_ * k_ > kSmall) return 32;
    return (narrow && b_.k == 1) || k_ >= kTurnDepth ? 48 : kFlatRows;
  }

  // Whether a way works at all, well or not, without taking much memory.
  bool can(Form form) const {
    bool many = m_ > kThinRows;
    switch (form) {
      case Form::Flat: return a_.k == 1 && many && n_ <= 4 * kFlatMost && n_ >= 2 * kernels<T>().lanes * kernels<T>().small_vectors;
      case Form::Small: return kSame && m_ > 1 && n_ * k_ <= std::max(4 * kSmall, in_place_most()) && k_ <= kContractBlock && (a_.k == 1 || a_.minor == 1) && n_ >= kernels<T>().lanes;
      case Form::Stream: return b_.minor == 1 && m_ <= kStreamRowsNarrow;
      case Form::Turned: return b_.k == 1 && many && m_ <= 2 * kTurnedMost;
      case Form::Outer: return kSame && a_.minor == 1 && b_.minor == 1 && m_ >= 2 * kernels<T>().rows && n_ >= 2 * kernels<T>().lanes;
      case Form::Swapped: return kSame && n_ > kThinRows && m_ * n_ <= 4 * kPackedElements && a_.minor == 1 && b_.minor == 1;
      case Form::Tall: case Form::Tall2: case Form::Tall3: case Form::Tall4: return many;
      case Form::ThinTurned: return std::is_same_v<T, float> && b_.k == 1 && m_ <= kTurnedRows<S>;
      case Form::ThinPacked: return !many;
    }
    return false;
  }

  Form fastest() {
    std::array<Form, std::size(kFormNames)> forms;
    std::array<std::string_view, std::size(kFormNames)> names;
    size_t count = 0;
    auto add = [&](Form form) { names[count] = kFormNames[static_cast<size_t>(form)], forms[count++] = form; };
    Form first = usual();
    add(first);
    for (size_t f = 0; f < std::size(kFormNames); ++f)
      if (Form form = static_cast<Form>(f); form != first && can(form)) add(form);
    ProductWork work{kDType, m_, n_, k_, a_.minor, a_.k, b_.minor, b_.k};
    return forms[fastest_way(work, {names.data(), count}, [&](size_t i) { run(forms[i]); })];
  }

  void run(Form form) {
    if constexpr (kSame) {
      switch (form) {
        case Form::Small: return small<T>(a_, b_, c_, m_, n_, k_);
        case Form::Outer: return Outer<T>(a_, b_, c_, m_, n_, k_).run();
        case Form::Swapped: {
          T* turned = scratch<T>(2, m_ * n_);
          Tall<T, S>(b_, a_, turned, n_, m_, k_).run();
          return transpose(c_, n_, turned, m_, m_, n_);
        }
        default: break;
      }
    }
    if (form == Form::Flat) return InPlace<T, S>::flat(a_, b_, c_, m_, n_, k_).run();
    if (form == Form::Turned) return InPlace<T, S>::turned(a_, b_, c_, m_, n_, k_).run();
    if (form == Form::Stream) return thin_stream<T, S>(a_, b_, c_, m_, n_, k_);
    if (form >= Form::Tall && form <= Form::Tall4) return Tall<T, S>(a_, b_, c_, m_, n_, k_, static_cast<int>(form) - static_cast<int>(Form::Tall)).run();
    if constexpr (std::is_same_v<T, float>)
      if (form == Form::ThinTurned && thin_turned<S>(a_, b_, c_, m_, n_, k_)) return;
    thin_packed<T>(a_, b_, c_, m_, n_, k_);
  }

  Operand<S> a_, b_;
  T* c_;
  int64_t m_, n_, k_;
};

// `alone`: no other product runs beside it, so that it can be timed.
template <class T, class S>
void multiply(Operand<S> a, Operand<S> b, T* c, int64_t m, int64_t n, int64_t k, bool alone) {
  Product<T, S>(a, b, c, m, n, k).run(alone);
}

struct Args {
  int64_t batch, m, n, k, sab, sam, sak, sbb, sbk, sbn;
};

// Calls one(p, alone) for each matrix of the batch: several small ones at a time, or each by all threads.
template <class F>
void for_batch(const Args& g, F&& one) {
  int64_t flops = 2 * g.m * g.n * g.k + 1;
  if (flops > 8 * kTaskFlops || g.batch == 1) {
    for (int64_t p = 0; p < g.batch; ++p) one(p, true);
  } else {
    runtime::parallel_for(g.batch, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) one(p, false);
    }, std::max<int64_t>(1, kTaskFlops / flops));
  }
}

template <class S>
void contract_floats(const loop::CallArgs& call, const Args& g) {
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
  const S* a = reinterpret_cast<const S*>(call.buffers[0]);
  const S* b = reinterpret_cast<const S*>(call.buffers[1]);
  S* c = reinterpret_cast<S*>(call.buffers[2]);
  if (g.k == 0) {
    std::memset(c, 0, g.batch * g.m * g.n * sizeof(S));
    return;
  }
  for_batch(g, [&](int64_t p, bool alone) {
    Operand<S> x{a + p * g.sab, g.sam, g.sak}, y{b + p * g.sbb, g.sbn, g.sbk};
    S* out = c + p * g.m * g.n;
    if constexpr (std::is_same_v<S, T>) {
      multiply<T>(x, y, out, g.m, g.n, g.k, alone);
    } else {
      T* wide = scratch<T>(2, g.m * g.n);
      multiply<T>(x, y, wide, g.m, g.n, g.k, alone);
      runtime::parallel_for(g.m * g.n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = loop::scalar::convert<S>(wide[i]);
      }, 1 << 16);
    }
  });
}

template <class S>
void contract_ints(const loop::CallArgs& call, const Args& g) {
  using T = std::conditional_t<std::is_same_v<S, int8_t>, int32_t, S>;
  using U = std::make_unsigned_t<T>;
  const S* a = reinterpret_cast<const S*>(call.buffers[0]);
  const S* b = reinterpret_cast<const S*>(call.buffers[1]);
  U* c = reinterpret_cast<U*>(call.buffers[2]);
  runtime::parallel_for(g.batch * g.m, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t p = row / g.m, i = row % g.m;
      U* out = c + row * g.n;
      const S* x = a + p * g.sab + i * g.sam;
      const S* y = b + p * g.sbb;
      if (g.sbn == 1) {
        std::fill(out, out + g.n, U(0));
        for (int64_t l = 0; l < g.k; ++l) {
          U e = U(T(x[l * g.sak]));
          const S* r = y + l * g.sbk;
#pragma GCC ivdep
          for (int64_t j = 0; j < g.n; ++j) out[j] += e * U(T(r[j]));
        }
      } else {
        for (int64_t j = 0; j < g.n; ++j) {
          U sum = 0;
          for (int64_t l = 0; l < g.k; ++l) sum += U(T(x[l * g.sak])) * U(T(y[l * g.sbk + j * g.sbn]));
          out[j] = sum;
        }
      }
    }
  }, std::max<int64_t>(1, kTaskFlops / (8 * g.n * g.k + 1)));
}

void contract(const loop::CallArgs& call) {
  auto& v = call.args;
  Args g{v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]};
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return;
  switch (static_cast<DType>(v[0])) {
    case DType::F32: return contract_floats<float>(call, g);
    case DType::F64: return contract_floats<double>(call, g);
    case DType::BF16: return contract_floats<BFloat16>(call, g);
    case DType::F16: return contract_floats<Float16>(call, g);
    case DType::I32: return contract_ints<int32_t>(call, g);
    case DType::I64: return contract_ints<int64_t>(call, g);
    case DType::U32: return contract_ints<uint32_t>(call, g);
    case DType::I8: return contract_ints<int8_t>(call, g);
    default: return loop::find_routine("contract")(call);
  }
}

}  // namespace

}  // namespace block

loop::Routine find_fast_routine(std::string_view name) {
  if (name == "contract") return block::contract;
  if (name == "contract_groups") return block::contract_groups;
  if (name == "contract_quantized") return block::contract_quantized;
  if (name == "attention") return block::attention;
  if (name == "attention_vjp") return block::attention_vjp;
  if (name == "sort") return block::sort;
  if (name == "cumulate") return block::cumulate;
  return loop::find_routine(name);
}

}  // namespace sheaf::codegen

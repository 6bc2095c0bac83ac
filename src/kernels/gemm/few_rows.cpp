// Few rows, with contiguous rows of B: a thread walks down its strip of columns and accumulates to sums in L1. If the
// strip is whole rows, it reads memory sequentially in one stream, which the hardware prefetcher follows best. In a
// narrower strip it reads several rows at a time and prefetches the next ones: the hardware prefetcher stops at the end
// of each row.
#include "kernels/gemm/few_rows.h"

#include <array>
#include <cstring>

#include "kernels/simd/by_element.h"
#include "kernels/simd/simd.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

constexpr int kStreamDepth = 8, kTileDepth = 32;  // rows of B at a time: read in place, and copied
constexpr int kRounds = 2;                        // k of each chain of one row at a time
constexpr int kStreamSums = 16;                   // vectors of sums in registers
constexpr int64_t kSumElements = 4096;            // of all rows of a strip: stay in L1
constexpr int64_t kMinStrip = 384, kMaxStrip = 2048;
constexpr int64_t kWay =
    16 << 10;  // bytes of one way of L1, which has four ways: addresses at a multiple of this distance share a set
constexpr int64_t kFewRows = 4;  // the most rows whose sums are stored as rows, not tiles

// The prefetch distance within a row, in elements.
template <class S>
constexpr int64_t kSoon = 3 * 64 / sizeof(S);

template <class T, class S>
using RowStream = void (*)(int64_t n, const T* a, int64_t lda, const S* b, int64_t ldb, const S* next, T* sums,
                           int64_t ld);
template <class T, class S>
using TileStream = void (*)(int64_t tiles, int64_t depth, const T* a, const S* b, int64_t ldb, const S* next, T* sums,
                            T* copy, int64_t ld);
template <class T, class S>
struct InOrder {
  RowStream<T, S> rows;  // of one row of A by whole rows of B
  int64_t depth;         // k at a time
};
template <class T, class S>
struct Streams {
  void (*copy_row)(int64_t n, const S* b, const S* next, T* to);
  RowStream<T, S>
      rounds;  // kRounds k of all chains of one row of A by whole rows of B, if that is faster than the next ones
  InOrder<T, S> in_order, crowded;              // crowded: if the rows of a chain are a multiple of kWay apart
  std::array<RowStream<T, S>, 3> deep, single;  // kStreamDepth and one k at a time; for 1, 2 and 4 rows of A
  std::array<TileStream<T, S>, 5> tiles;        // for 1, 2, 4, middle_rows and tile_rows
  TileStream<T, S> copying_tiles;               // for tile_rows
};
template <class T>
struct Kernels {
  int64_t middle_rows, tile_rows, tile_columns;
  void (*add_chains)(int64_t n, T* sums, int64_t ld);
  ByElement<T, Streams> streams;
};

#define SHEAF_KERNELS "kernels/gemm/few_rows_code.h"
#include "kernels/simd/instruction_sets.h"

// Calls f(row, log) for groups of 2^log rows, at most four.
void row_groups(int64_t m, auto&& f) {
  int64_t i = 0;
  for (int form = 2; form >= 0; --form)
    for (; m - i >= (1 << form); i += 1 << form)
      f(i, form);
}

// Walks down the strips of B. For each block of k of the definition calls begin_block(), then rows(l, depth, next) for
// each max_depth k or fewer, where `next` points to the rows after these, then end_block(first). make_strip(first
// column, columns) makes a Strip.
template <class Strip, class S>
void walk_strips(const MatrixView<S>& b, int64_t m, int64_t n, int64_t k, int64_t width, auto&& make_strip) {
  const int64_t length = routines::contract_block(k);
  runtime::parallel_for(
      pieces(n, width),
      [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
          int64_t j = index * width;
          Strip strip = make_strip(j, std::min(width, n - j));
          for (int64_t block = 0; block < k; block += length) {
            strip.begin_block();
            int64_t last = std::min(k, block + length);
            for (int64_t l = block; l < last; l += strip.max_depth) {
              int64_t depth = std::min(strip.max_depth, last - l);
              // After the last rows of a strip come the first rows of the next strip.
              const S* next = l + 2 * strip.max_depth <= k ? b.at(j, l + strip.max_depth)
                              : index + 1 < end            ? b.at(j + width, 0)
                                                           : b.at(j, l);
              strip.rows(l, depth, next);
            }
            strip.end_block(block == 0);
          }
        }
      },
      std::max<int64_t>(1, kTaskFlops / (2 * m * width * k + 1)));
}

// Products of up to four rows. A single row has separate sums for each chain of a block.
template <class T, class S>
class FewRows {
 public:
  FewRows(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k)
      : x_(m == 1 ? row_by_chains<T>(a, k) : contiguous_rows<T>(a, m, k)), b_(b), c_(c), m_(m), n_(n), k_(k) {}

  void run() {
    sums_.run(c_, [&](int64_t j, int64_t columns, int64_t begin, int64_t end, T* to, int64_t width, bool another) {
      part(j, columns, begin, end, to, width, another);
    });
  }

 private:
  static constexpr int64_t kNear = 1 << 16;  // elements of a B that stays in L2
  static constexpr int64_t kMostSums = 16384,
                           kMostInOrder = 65536;  // of whole rows; the second if two rows of B at a time share the sums
  static constexpr int64_t kNearSums =
      8192 / sizeof(T);  // of each chain, if all chains are loaded and stored at once: they stay in L1

  void part(int64_t j, int64_t columns, int64_t begin, int64_t end, T* to, int64_t width, bool another) {
    bool in_order = m_ == 1 && sums_.whole_rows() && n_ * k_ > kNear;
    int64_t stride = chains_, l = begin;
    const InOrder<T, S>& whole_rows = stride * b_.k * int64_t(sizeof(S)) % kWay == 0 ? kern_.crowded : kern_.in_order;
    int64_t deep = in_order ? whole_rows.depth : kStreamDepth;
    // After the last rows come the first rows of the next task.
    auto [next_column, next_k] = sums_.next(j, begin);
    const S* after = another && next_k + deep * stride <= k_ ? b_.at(next_column, next_k) : nullptr;
    auto rows = [&](const std::array<RowStream<T, S>, 3>& kernels, int64_t first, const S* next) {
      const S* from = b_.at(j, first);
      if (m_ == 1)
        return (&kernels == &kern_.deep && in_order ? whole_rows.rows : kernels[0])(
            columns, x_.at(first % stride, first / stride), 0, from, stride * b_.k, next, to + first % stride * width,
            0);
      row_groups(m_, [&](int64_t i, int form) {
        kernels[form](columns, x_.at(i, first), x_.minor, from, b_.k, i == 0 ? next : from, to + i * width, width);
      });
    };
    if (m_ == 1 && kern_.rounds)
      for (const int64_t step = kRounds * stride; l + step <= end; l += step)
        kern_.rounds(columns, x_.at(0, l / stride), x_.minor, b_.at(j, l), b_.k,
                     b_.at(j, l + 2 * step <= end ? l + step : l), to, width);
    for (; l + deep * stride <= end; l += deep * stride)
      for (int64_t first = l; first < l + stride; ++first) {
        const S* from = b_.at(j, first);
        rows(kern_.deep, first,
             first + 1 < l + stride         ? from + b_.k
             : l + 2 * deep * stride <= end ? b_.at(j, l + deep * stride)
             : after                        ? after
                                            : from);
      }
    for (; l < end; ++l)
      rows(kern_.single, l, b_.at(j, l));
    if (m_ == 1) kernels<T>().add_chains(columns, to, width);
  }

  MatrixView<T> x_;
  const MatrixView<S>& b_;
  T* c_;
  int64_t m_, n_, k_, chains_ = routines::contract_chains(m_, n_);
  const Streams<T, S>& kern_ = kernels<T>().streams.of(b_.data);
  BlockSums<T> sums_ = m_ == 1 && kern_.rounds ? BlockSums<T>(m_, n_, k_, chains_, kNearSums, kNearSums)
                       : m_ == 1 ? BlockSums<T>(m_, n_, k_, chains_, std::is_same_v<T, S> ? kMostInOrder : kMostSums)
                                 : BlockSums<T>(m_, n_, k_, m_, kMostSums);
};

// Products of more rows: sums are tiles, one group of rows after the other. The first group reads B in place and copies
// it, as T and to L1, for the others: in L1, rows of B at a stride of a multiple of 4 KiB would evict each other.
template <class T, class S>
struct TileStrip {
  const Kernels<T>& kern;
  const T* x;  // for each group of rows: [k][height of the group]
  const MatrixView<S>& b;
  T* c;
  int64_t m, n, k, j, columns;
  bool one_group = m <= kern.tile_rows;
  int64_t max_depth = one_group ? kStreamDepth : kTileDepth;
  int64_t wide = kern.tile_columns, tiles = pieces(columns, wide), whole = columns / wide, ld = tiles * wide;
  int64_t num_sums = round_up(m, kern.tile_rows) * tiles * wide;
  T *sums = scratch<T>(1, num_sums + max_depth * ld), *copy = sums + num_sums;

  int form(int64_t rows) const {
    return rows == 1 ? 0 : rows == 2 ? 1 : rows <= 4 ? 2 : rows <= kern.middle_rows ? 3 : 4;
  }
  static int64_t height(const Kernels<T>& kern, int64_t rows) {
    return rows > kern.middle_rows ? kern.tile_rows : rows > 4 ? kern.middle_rows : rows > 2 ? 4 : rows;
  }
  // Calls f(row, existing rows, height) for each group.
  static void groups(const Kernels<T>& kern, int64_t m, auto&& f) {
    for (int64_t i = 0; i < m; i += kern.tile_rows) {
      int64_t rows = std::min(kern.tile_rows, m - i);
      f(i, rows, height(kern, rows));
    }
  }

  void begin_block() { std::fill(sums, sums + num_sums, T(0)); }
  void rows(int64_t l, int64_t depth, const S* next) {
    int64_t done = whole * wide;
    if (done < columns)
      for (int64_t r = 0; r < depth; ++r) {
        kern.streams.of(b.data).copy_row(columns - done, b.at(j + done, l + r), next + done + r * b.k,
                                         copy + r * ld + done);
        std::fill(copy + r * ld + columns, copy + (r + 1) * ld, T(0));
      }
    groups(kern, m, [&](int64_t i, int64_t rows, int64_t height) {
      const T* a = x + i * k + l * height;
      T* to = sums + i * tiles * wide;
      int64_t left = tiles;
      if (i == 0) {
        auto kernel = one_group ? kern.streams.of(b.data).tiles[form(rows)] : kern.streams.of(b.data).copying_tiles;
        for (int64_t r = 0; r < depth; r += kStreamDepth)
          kernel(whole, std::min<int64_t>(kStreamDepth, depth - r), a + r * height, b.at(j, l + r), b.k, next + r * b.k,
                 to, copy + r * ld, ld);
        left = tiles - whole;
      }
      kern.streams.of(copy).tiles[form(rows)](left, depth, a, copy + (tiles - left) * wide, ld, copy,
                                              to + (tiles - left) * height * wide, copy, ld);
    });
  }
  void end_block(bool first) {
    groups(kern, m, [&](int64_t i, int64_t rows, int64_t height) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t t = 0; t < tiles; ++t) {
          T* to = c + (i + r) * n + j + t * wide;
          const T* from = sums + i * tiles * wide + (t * height + r) * wide;
          for (int64_t e = 0; e < std::min(wide, columns - t * wide); ++e)
            to[e] = (first ? T(0) : to[e]) + from[e];
        }
    });
  }
};

}  // namespace

template <class T, class S>
void gemm_stream(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  if (m <= kFewRows) return FewRows<T, S>(a, b, c, m, n, k).run();
  T* x = scratch<T>(0, round_up(m, kern.tile_rows) * k);
  TileStrip<T, S>::groups(kern, m,
                          [&](int64_t i, int64_t rows, int64_t height) { pack(x + i * k, a, i, 0, rows, height, k); });
  int64_t width = strip_width(n, std::clamp(kSumElements / m, kMinStrip, kMaxStrip), kern.tile_columns);
  walk_strips<TileStrip<T, S>>(b, m, n, k, width, [&](int64_t j, int64_t columns) {
    return TileStrip<T, S>{kern, x, b, c, m, n, k, j, columns};
  });
}

template void gemm_stream(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t);
template void gemm_stream(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t);
template void gemm_stream(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t, int64_t);
template void gemm_stream(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t, int64_t);

}  // namespace sheaf::kernels

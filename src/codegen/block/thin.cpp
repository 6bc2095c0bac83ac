// Thin products stream B. Where its rows are contiguous (thin_stream), a thread walks down a strip of columns, several rows at a time,
// past sums in the first-level cache, and asks for the next rows: the machine's own prefetching stops at the end of each row of a strip.
// Where its columns are (thin_transposed, weights kept as [N, K]), blocks of them are transposed in registers on their way,
// so that a vector holds neighbouring columns, each with its chain over k.
#include "codegen/block/thin.h"

#include <array>

#include "codegen/block/simd.h"
#include "loop/library.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {
namespace {

using loop::kContractBlock;

constexpr int kStreamDepth = 8, kTileDepth = 32;  // rows of B at a time: where they are, and copied
constexpr int kStreamSums = 16;               // vectors of sums in registers
constexpr int64_t kSumElements = 4096;        // of all rows of a strip: stay in the first-level cache
constexpr int64_t kMinStrip = 384, kMaxStrip = 2048;
constexpr int64_t kFewRows = 4;                // whose sums are rows, not tiles
constexpr int64_t kTaskFlops = 1 << 18;       // a task worth a thread: some 5 us

// Elements from here to the line of the same row that is asked for.
template <class S>
constexpr int64_t kSoon = 3 * 64 / sizeof(S);

template <class T, class S>
using RowStream = void (*)(int64_t n, const T* a, int64_t lda, const S* b, int64_t ldb, const S* next, T* sums, int64_t ld);
template <class T, class S>
using TileStream = void (*)(int64_t tiles, int64_t depth, const T* a, const S* b, int64_t ldb, const S* next, T* sums, T* copy, int64_t ld);
template <class T, class S>
struct Streams {
  void (*copy_row)(int64_t n, const S* b, const S* next, T* to);
  std::array<RowStream<T, S>, 3> deep, single;  // kStreamDepth and one k at a time; for 1, 2 and 4 rows of A
  std::array<TileStream<T, S>, 4> tiles;        // for 1, 2, 4 and tile_rows
  TileStream<T, S> copying_tiles;               // for tile_rows
};
template <class T>
struct Kernels {
  int64_t tile_rows, tile_columns;
  Streams<T, T> same;
  const Streams<T, T>& of(const T*) const { return same; }
};
template <>
struct Kernels<float> {
  int64_t tile_rows, tile_columns;
  Streams<float, float> same;
  Streams<float, BFloat16> bf16;
  Streams<float, Float16> f16;
  const Streams<float, float>& of(const float*) const { return same; }
  const Streams<float, BFloat16>& of(const BFloat16*) const { return bf16; }
  const Streams<float, Float16>& of(const Float16*) const { return f16; }
};

#define SHEAF_KERNELS "codegen/block/thin_kernels.h"
#include "codegen/block/instruction_sets.h"

// The rows of A one after the other, in T: where they are if they are so, else in the scratch memory of this thread.
template <class T, class S>
Operand<T> contiguous_rows(const Operand<S>& a, int64_t m, int64_t k) {
  if constexpr (std::is_same_v<T, S>)
    if (a.k == 1) return a;
  T* to = scratch<T>(0, m * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) to[i * k + l] = widen<T>(*a.at(i, l));
  return {to, k, 1};
}

// Calls f(row, form) for groups of 2^form rows, `form` at most `most`.
template <class F>
void row_groups(int64_t m, int most, F&& f) {
  int64_t i = 0;
  for (int form = most; form >= 0; --form)
    for (; m - i >= (1 << form); i += 1 << form) f(i, form);
}

// Strips of columns of equal width, as many for each thread.
int64_t strip_width(int64_t m, int64_t n, int64_t multiple) {
  int64_t most = std::clamp(kSumElements / m, kMinStrip, kMaxStrip), threads = runtime::num_threads();
  return round_up(pieces(n, threads * pieces(n, threads * most)), multiple);
}

// Walks down the strips of B: begin_block(), then rows(l, depth, next) for each max_depth k or fewer, where `next` is what comes after them,
// and end_block(first) behind each block of the definition. `Strip` is made with the first column and the number of columns.
template <class Strip, class S>
void walk_strips(const Operand<S>& b, int64_t m, int64_t n, int64_t k, int64_t width, auto&& make_strip) {
  runtime::parallel_for(pieces(n, width), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      int64_t j = index * width;
      Strip strip = make_strip(j, std::min(width, n - j));
      for (int64_t block = 0; block < k; block += kContractBlock) {
        strip.begin_block();
        int64_t last = std::min(k, block + kContractBlock);
        for (int64_t l = block; l < last; l += strip.max_depth) {
          int64_t depth = std::min(strip.max_depth, last - l);
          // Behind the last rows of a strip come the first of the next.
          const S* next = l + 2 * strip.max_depth <= k ? b.at(j, l + strip.max_depth) : index + 1 < end ? b.at(j + width, 0) : b.at(j, l);
          strip.rows(l, depth, next);
        }
        strip.end_block(block == 0);
      }
    }
  }, std::max<int64_t>(1, kTaskFlops / (2 * m * width * k + 1)));
}

// Up to four rows: the sums of a row are contiguous.
template <class T, class S>
struct RowStrip {
  const Streams<T, S>& kern;
  Operand<T> x;
  const Operand<S>& b;
  T* c;
  int64_t m, n, j, columns, ld;
  int64_t max_depth = kStreamDepth;
  T* sums = scratch<T>(1, m * ld);

  void begin_block() { std::fill(sums, sums + m * ld, T(0)); }
  void rows(int64_t l, int64_t depth, const S* next) {
    bool deep = depth == kStreamDepth;
    for (int64_t end = l + depth; l < end; l += deep ? kStreamDepth : 1)
      row_groups(m, 2, [&](int64_t i, int form) {
        (deep ? kern.deep : kern.single)[form](columns, x.at(i, l), x.minor, b.at(j, l), b.k, i == 0 ? next : b.at(j, l), sums + i * ld, ld);
      });
  }
  void end_block(bool first) {
    for (int64_t i = 0; i < m; ++i) {
      T* to = c + i * n + j;
      for (int64_t e = 0; e < columns; ++e) to[e] = (first ? T(0) : to[e]) + sums[i * ld + e];
    }
  }
};

// More rows: sums are tiles, group of rows by group of rows. The first group reads B where it is and leaves a copy, in T and in the first-level cache,
// to the others: rows of B a multiple of 4 KiB apart evict each other there.
template <class T, class S>
struct TileStrip {
  const Kernels<T>& kern;
  const T* x;  // for each group of rows [k][its height]
  const Operand<S>& b;
  T* c;
  int64_t m, n, k, j, columns;
  bool one_group = m <= kern.tile_rows;
  int64_t max_depth = one_group ? kStreamDepth : kTileDepth;
  int64_t wide = kern.tile_columns, tiles = pieces(columns, wide), whole = columns / wide, ld = tiles * wide;
  int64_t num_sums = round_up(m, kern.tile_rows) * tiles * wide;
  T *sums = scratch<T>(1, num_sums + max_depth * ld), *copy = sums + num_sums;

  int form(int64_t rows) const { return rows == 1 ? 0 : rows == 2 ? 1 : rows <= 4 ? 2 : 3; }
  static int64_t height(const Kernels<T>& kern, int64_t rows) { return rows > 4 ? kern.tile_rows : rows > 2 ? 4 : rows; }
  // f(row, rows that exist, height)
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
        kern.of(b.data).copy_row(columns - done, b.at(j + done, l + r), next + done + r * b.k, copy + r * ld + done);
        std::fill(copy + r * ld + columns, copy + (r + 1) * ld, T(0));
      }
    groups(kern, m, [&](int64_t i, int64_t rows, int64_t height) {
      const T* a = x + i * k + l * height;
      T* to = sums + i * tiles * wide;
      int64_t left = tiles;
      if (i == 0) {
        auto kernel = one_group ? kern.of(b.data).tiles[form(rows)] : kern.of(b.data).copying_tiles;
        for (int64_t r = 0; r < depth; r += kStreamDepth) kernel(whole, std::min<int64_t>(kStreamDepth, depth - r), a + r * height, b.at(j, l + r), b.k, next + r * b.k, to, copy + r * ld, ld);
        left = tiles - whole;
      }
      kern.of(copy).tiles[form(rows)](left, depth, a, copy + (tiles - left) * wide, ld, copy, to + (tiles - left) * height * wide, copy, ld);
    });
  }
  void end_block(bool first) {
    groups(kern, m, [&](int64_t i, int64_t rows, int64_t height) {
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t t = 0; t < tiles; ++t) {
          T* to = c + (i + r) * n + j + t * wide;
          const T* from = sums + i * tiles * wide + (t * height + r) * wide;
          for (int64_t e = 0; e < std::min(wide, columns - t * wide); ++e) to[e] = (first ? T(0) : to[e]) + from[e];
        }
    });
  }
};

}  // namespace

template <class T, class S>
void thin_stream(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  if (m <= kFewRows) {
    Operand<T> x = contiguous_rows<T>(a, m, k);
    int64_t width = strip_width(m, n, 64);
    walk_strips<RowStrip<T, S>>(b, m, n, k, width, [&](int64_t j, int64_t columns) { return RowStrip<T, S>{kern.of(b.data), x, b, c, m, n, j, columns, width}; });
    return;
  }
  T* x = scratch<T>(0, round_up(m, kern.tile_rows) * k);
  TileStrip<T, S>::groups(kern, m, [&](int64_t i, int64_t rows, int64_t height) { pack(x + i * k, a, i, 0, rows, height, k); });
  walk_strips<TileStrip<T, S>>(b, m, n, k, strip_width(m, n, kern.tile_columns), [&](int64_t j, int64_t columns) { return TileStrip<T, S>{kern, x, b, c, m, n, k, j, columns}; });
}

template void thin_stream(const Operand<float>&, const Operand<float>&, float*, int64_t, int64_t, int64_t);
template void thin_stream(const Operand<double>&, const Operand<double>&, double*, int64_t, int64_t, int64_t);
template void thin_stream(const Operand<BFloat16>&, const Operand<BFloat16>&, float*, int64_t, int64_t, int64_t);
template void thin_stream(const Operand<Float16>&, const Operand<Float16>&, float*, int64_t, int64_t, int64_t);

#if defined(__aarch64__)
namespace {

constexpr int64_t kColumns = 8;  // of B at a time
constexpr int64_t kFarBytes = 4096;

// acc[i] += x[i][e] y[e] for e < 4, in order; a vector y[e] holds an element of each of four columns.
template <int kRows>
inline void multiply_turned(float32x4_t (&acc)[kRows], const float32x4_t (&y)[4], const float* x, int64_t ldx) {
  float32x4_t r[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) r[i] = vld1q_f32(x + i * ldx);
  auto step = [&]<int e>(std::integral_constant<int, e>) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[i] = vfmaq_laneq_f32(acc[i], y[e], r[i], e);
  };
  step(std::integral_constant<int, 0>{});
  step(std::integral_constant<int, 1>{});
  step(std::integral_constant<int, 2>{});
  step(std::integral_constant<int, 3>{});
}

// Products with a vector of consecutive elements of each of four columns, ldb apart.
template <int kRows>
inline void multiply_columns(float32x4_t (&acc)[kRows], const float* b, int64_t ldb, const float* x, int64_t ldx) {
  float32x4_t c0 = vld1q_f32(b), c1 = vld1q_f32(b + ldb), c2 = vld1q_f32(b + 2 * ldb), c3 = vld1q_f32(b + 3 * ldb);
  auto pairs = [](float32x4_t v) { return vreinterpretq_f64_f32(v); };
  auto single = [](float64x2_t v) { return vreinterpretq_f32_f64(v); };
  float64x2_t even = pairs(vtrn1q_f32(c0, c1)), odd = pairs(vtrn2q_f32(c0, c1)), even2 = pairs(vtrn1q_f32(c2, c3)), odd2 = pairs(vtrn2q_f32(c2, c3));
  float32x4_t y[4] = {single(vzip1q_f64(even, even2)), single(vzip1q_f64(odd, odd2)), single(vzip2q_f64(even, even2)), single(vzip2q_f64(odd, odd2))};
  multiply_turned(acc, y, x, ldx);
}

// bf16: a table lookup takes an element of each column out of two registers and puts zeros below it.
template <int kRows>
inline void multiply_columns(float32x4_t (&acc)[kRows], const BFloat16* b, int64_t ldb, const float* x, int64_t ldx) {
  auto column = [&](int c) { return vreinterpretq_u64_u16(vld1q_u16(&b[c * ldb].bits)); };
  uint64x2_t c0 = column(0), c1 = column(1), c2 = column(2), c3 = column(3);
  auto bytes = [](uint64x2_t v) { return vreinterpretq_u8_u64(v); };
  uint8x16x2_t four[2] = {{{bytes(vzip1q_u64(c0, c1)), bytes(vzip1q_u64(c2, c3))}}, {{bytes(vzip2q_u64(c0, c1)), bytes(vzip2q_u64(c2, c3))}}};
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    float32x4_t y[4];
#pragma GCC unroll 4
    for (uint32_t e = 0; e < 4; ++e) {
      uint32_t low = 0xffff | (2 * e) << 16 | (2 * e + 1) << 24;  // 0xff: outside of the table, hence 0
      const uint32x4_t places = {low, low + 0x08080000, low + 0x10100000, low + 0x18180000};
      y[e] = vreinterpretq_f32_u8(vqtbl2q_u8(four[half], vreinterpretq_u8_u32(places)));
    }
    multiply_turned(acc, y, x + half * 4, ldx);
  }
}

template <int kRows>
inline void multiply_columns(float32x4_t (&acc)[kRows], const Float16* b, int64_t ldb, const float* x, int64_t ldx) {
  auto column = [&](int c) { return vld1q_u16(&b[c * ldb].bits); };
  auto words = [](uint16x8_t v) { return vreinterpretq_u32_u16(v); };
  uint16x8_t c0 = column(0), c1 = column(1), c2 = column(2), c3 = column(3);
  uint16x8_t even = vtrn1q_u16(c0, c1), odd = vtrn2q_u16(c0, c1), even2 = vtrn1q_u16(c2, c3), odd2 = vtrn2q_u16(c2, c3);
  // Elements 0 and 4, 2 and 6, 1 and 5, 3 and 7 of the four columns.
  auto low = [&](uint16x8_t a, uint16x8_t b) { return vreinterpretq_f16_u32(vtrn1q_u32(words(a), words(b))); };
  auto high = [&](uint16x8_t a, uint16x8_t b) { return vreinterpretq_f16_u32(vtrn2q_u32(words(a), words(b))); };
  float16x8_t e04 = low(even, even2), e26 = high(even, even2), e15 = low(odd, odd2), e37 = high(odd, odd2);
  float32x4_t first[4] = {vcvt_f32_f16(vget_low_f16(e04)), vcvt_f32_f16(vget_low_f16(e15)), vcvt_f32_f16(vget_low_f16(e26)), vcvt_f32_f16(vget_low_f16(e37))};
  float32x4_t second[4] = {vcvt_high_f32_f16(e04), vcvt_high_f32_f16(e15), vcvt_high_f32_f16(e26), vcvt_high_f32_f16(e37)};
  multiply_turned(acc, first, x, ldx);
  multiply_turned(acc, second, x + 4, ldx);
}

// total[i][c] += the sum over `depth` k of x[i][k] column[c][k], for kRows rows and kColumns columns `ldb` apart; meanwhile asks for as much at `next`.
template <class S, int kRows>
void transposed_block(const float* x, int64_t ldx, const S* b, int64_t ldb, int64_t depth, const S* next, float* total) {
  constexpr int kStep = 16 / sizeof(S), kLine = 64 / sizeof(S), kGroups = kColumns / 4;
  float32x4_t acc[kGroups][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g)
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[g][i] = vdupq_n_f32(0);
  auto step = [&](int64_t l) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) multiply_columns(acc[g], b + g * 4 * ldb + l, ldb, x + l, ldx);
  };
  int64_t l = 0;
  for (; l + kLine <= depth; l += kLine) {
#pragma GCC unroll 8
    for (int r = 0; r < kColumns; ++r) __builtin_prefetch(next + r * ldb + l);
#pragma GCC unroll 4
    for (int s = 0; s < kLine; s += kStep) step(l + s);
  }
  for (; l + kStep <= depth; l += kStep) step(l);
  for (; l < depth; ++l)
    for (int g = 0; g < kGroups; ++g) {
      float y[4];
      for (int e = 0; e < 4; ++e) y[e] = widen<float>(b[(g * 4 + e) * ldb + l]);
      for (int i = 0; i < kRows; ++i) acc[g][i] = vfmaq_n_f32(acc[g][i], vld1q_f32(y), x[i * ldx + l]);
    }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      float* to = total + i * kColumns + g * 4;
      vst1q_f32(to, vaddq_f32(vld1q_f32(to), acc[g][i]));
    }
}

}  // namespace

template <class S>
bool thin_transposed(const Operand<S>& a, const Operand<S>& b, float* c, int64_t m, int64_t n, int64_t k) {
  if (n < kColumns) return false;
  static constexpr std::array kBlocks{transposed_block<S, 1>, transposed_block<S, 2>, transposed_block<S, 4>};
  Operand<float> x = contiguous_rows<float>(a, m, k);
  runtime::parallel_for(pieces(n, kColumns), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      // The last block overlaps the one before it.
      int64_t j = p * kColumns, from = std::min(j, n - kColumns);
      row_groups(m, 2, [&](int64_t i, int form) {
        float total[4 * kColumns] = {};
        for (int64_t l = 0; l < k; l += kContractBlock) {
          // What is asked for must not be so far ahead that the first-level cache loses it again.
          const S* next = k * sizeof(S) <= kFarBytes ? b.at(from + kColumns, l) : l + kContractBlock < k ? b.at(from, l + kContractBlock) : b.at(from + kColumns, 0);
          kBlocks[form](x.at(i, l), x.minor, b.at(from, l), b.minor, std::min(kContractBlock, k - l), next, total);
        }
        for (int64_t r = 0; r < 1 << form; ++r) std::memcpy(c + (i + r) * n + j, total + r * kColumns + j - from, (from + kColumns - j) * sizeof(float));
      });
    }
  }, std::max<int64_t>(1, kTaskFlops / (2 * m * kColumns * k + 1)));
  return true;
}
#else
template <class S>
bool thin_transposed(const Operand<S>&, const Operand<S>&, float*, int64_t, int64_t, int64_t) { return false; }
#endif

template bool thin_transposed(const Operand<float>&, const Operand<float>&, float*, int64_t, int64_t, int64_t);
template bool thin_transposed(const Operand<BFloat16>&, const Operand<BFloat16>&, float*, int64_t, int64_t, int64_t);
template bool thin_transposed(const Operand<Float16>&, const Operand<Float16>&, float*, int64_t, int64_t, int64_t);

}  // namespace sheaf::codegen::block

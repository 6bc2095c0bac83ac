// Kernels for quantized weights with NEON byte dot products. Included by quantized.cpp.
#pragma once
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <bit>

#include "kernels/quantized/groups.h"

namespace sheaf::kernels::neon {

// The instruction that multiplies bytes. Matrices: smmla multiplies two rows of eight bytes (the high and the low bytes
// of x) by two columns. Otherwise: sdot adds four products to each of four sums.
enum class By { Nibbles, Bytes, Matrices };

// Integers as floats: for an integer below 2^22, the bits of kRound plus the integer are kRoundBits plus the integer.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
constexpr int32_t kRoundBits = std::bit_cast<int32_t>(kRound);
constexpr float kLeastStep = 0x1p-80f, kMostStep = 0x1p60f;  // between these, no intermediate result overflows
constexpr int64_t kAheadBytes = 6144, kSoonBytes = 512;

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
// Inline assembly, which keeps the order written: a compiler would put the instructions of one accumulator next to each
// other, where each waits for the previous one.
template <int kLane>
[[gnu::always_inline]] inline void add_lane(int32x4_t& sums, uint8x16_t w, int8x16_t x) {
  asm volatile("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sums) : "w"(w), "w"(x), "i"(kLane));
}
[[gnu::always_inline]] inline void add_vector(int32x4_t& sums, uint8x16_t w, int8x16_t x) {
  asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums) : "w"(w), "w"(x));
}
[[gnu::always_inline]] inline void add_matrix(int32x4_t& sums, uint8x16_t w, int8x16_t x) {
  asm volatile(".arch_extension i8mm\n smmla %0.4s, %1.16b, %2.16b" : "+w"(sums) : "w"(x), "w"(w));
}

// The sums of kTiles adjacent tiles over one group: in `low`, and for 8 bits the sums of the high bytes of x in `high`.
// They are the bits of floats with kRound added. kRows: the number of rows of bytes if it is a constant, else 0.
template <int kTiles, int64_t kRows>
[[gnu::always_inline]] inline void dot_nibbles(const Counts& x, const uint8_t* row, int64_t any_rows,
                                               int32x4_t (&low)[kTiles]) {
  const int64_t rows = kRows ? kRows : any_rows, tile = rows * kTile * 4, half = rows * 4;
#pragma GCC unroll 4
  for (int v = 0; v < kTiles; ++v)
    low[v] = vdupq_n_s32(kRoundBits + x.offset);
  // Multiplies one row of bytes by the elements of x in lane `lane` of the vectors from element l on.
  auto step = [&]<int lane>(std::integral_constant<int, lane>, int64_t l) __attribute__((always_inline)) {
    uint8x16_t w[kTiles], second[kTiles];
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) {
      w[v] = vld1q_u8(row + v * tile);
      second[v] = vshrq_n_u8(w[v], 4), w[v] = vandq_u8(w[v], vdupq_n_u8(15));
    }
    int8x16_t x0 = vld1q_s8(x.bytes + l), x1 = vld1q_s8(x.bytes + half + l);
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v)
      add_lane<lane>(low[v], w[v], x0);
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v)
      add_lane<lane>(low[v], second[v], x1);
    row += kTile * 4;
  };
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    step(std::integral_constant<int, 0>{}, r * 4);
    step(std::integral_constant<int, 1>{}, r * 4);
    step(std::integral_constant<int, 2>{}, r * 4);
    step(std::integral_constant<int, 3>{}, r * 4);
  }
  for (; r < rows; ++r)
    step(std::integral_constant<int, 0>{}, r * 4);
}

template <bool kMatrices, int kTiles, int64_t kRows>
[[gnu::always_inline]] inline void dot_bytes(const Counts& x, const uint8_t* row, int64_t any_rows,
                                             int32x4_t (&high)[kTiles], int32x4_t (&low)[kTiles]) {
  const int64_t rows = kRows ? kRows : any_rows, tile = rows * kTile * 8;
  // Accumulators of columns 0 and 1 of a tile, and of 2 and 3. With matrices each holds two sums of high bytes and two
  // of low bytes; otherwise the first two are of high bytes, and each sum has two partial sums.
  constexpr int kSums = kMatrices ? 2 : 4;
  const int32x4_t begin = kMatrices ? vdupq_n_s32(kRoundBits) : vreinterpretq_s32_u64(vdupq_n_u64(kRoundBits));
  int32x4_t sums[kTiles][kSums];
#pragma GCC unroll 4
  for (int v = 0; v < kTiles; ++v)
#pragma GCC unroll 4
    for (int s = 0; s < kSums; ++s)
      sums[v][s] = begin;
#pragma GCC unroll 4
  for (int64_t r = 0; r < rows; ++r, row += kTile * 8) {
    int8x16_t both = vld1q_s8(x.bytes + 16 * r);
    int8x16_t highs = vcombine_s8(vget_low_s8(both), vget_low_s8(both)),
              lows = vcombine_s8(vget_high_s8(both), vget_high_s8(both));
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) {
      uint8x16_t w0 = vld1q_u8(row + v * tile), w1 = vld1q_u8(row + v * tile + 16);
      if constexpr (kMatrices)
        add_matrix(sums[v][0], w0, both), add_matrix(sums[v][1], w1, both);
      else
        add_vector(sums[v][0], w0, highs), add_vector(sums[v][1], w1, highs), add_vector(sums[v][2], w0, lows),
            add_vector(sums[v][3], w1, lows);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kTiles; ++v) {
    auto pair = [&](int s) { return vreinterpretq_s64_s32(sums[v][s]); };
    if constexpr (kMatrices)
      high[v] = vreinterpretq_s32_s64(vzip1q_s64(pair(0), pair(1))),
      low[v] = vreinterpretq_s32_s64(vzip2q_s64(pair(0), pair(1)));
    else
      high[v] = vpaddq_s32(sums[v][0], sums[v][1]), low[v] = vpaddq_s32(sums[v][2], sums[v][3]);
  }
}

// Prefetches bytes that are read at two distances (soon, and later); after a group's last columns comes the next group.
// always_inline, because compilers drop calls of a function that only prefetches.
[[gnu::always_inline]] inline void prefetch_ahead(const Groups& g, int64_t group, int64_t column, int64_t at,
                                                  int64_t bytes) {
  const uint8_t *from = g.bytes + group * g.bytes_apart, *next = from + g.count * g.bytes_apart;
  const int64_t all = g.columns / kTile * g.tile_bytes();
  auto after = [&](int64_t there) { return there < all ? from + there : next + (there - all); };
  const uint8_t *far = after(at + kAheadBytes), *soon = after(at + kSoonBytes);
  for (int64_t line = 0; line < bytes; line += 64) {
    __builtin_prefetch(far + line, 0, 2);
    __builtin_prefetch(soon + line);
  }
  __builtin_prefetch(g.scales_of(group + g.count) + column, 0, 2);
}

// Adds kTiles tiles from column j on, over all groups, for one row of x. `ask`: prefetches, for a core that reads one
// stream best; the hardware prefetchers of others follow several groups.
template <By kBy, int kTiles, int64_t kRows>
[[gnu::always_inline]] inline void add_tiles(const Counts* x, const Groups& g, int64_t j, bool ask, float* sums) {
  const int64_t tile = (kRows ? kRows : g.rows) * kTile * kDeep<kBy == By::Nibbles>, at = j / kTile * tile;
  float32x4_t here[kTiles];
#pragma GCC unroll 4
  for (int v = 0; v < kTiles; ++v)
    here[v] = vld1q_f32(sums + j + 4 * v);
  for (int64_t q = 0; q < g.count; ++q) {
    if (ask) prefetch_ahead(g, q, j, at, kTiles * tile);
    const uint8_t* from = g.bytes + q * g.bytes_apart + at;
    int32x4_t high[kTiles], low[kTiles];
    if constexpr (kBy == By::Nibbles)
      dot_nibbles<kTiles, kRows>(x[q], from, g.rows, low);
    else
      dot_bytes<kBy == By::Matrices, kTiles, kRows>(x[q], from, g.rows, high, low);
    // As floats they are 1.5 * 2^23 plus the sum, so no conversion is needed. Subtracting the constants first keeps the
    // sum of the high bytes exact.
    float step = x[q].step, h = step * 256;
#pragma GCC unroll 4
    for (int v = 0; v < kTiles; ++v) {
      float32x4_t sum = vdupq_n_f32(-kRound * (kBy == By::Nibbles ? step : h + step));
      if constexpr (kBy != By::Nibbles) sum = vfmaq_n_f32(sum, vreinterpretq_f32_s32(high[v]), h);
      sum = vfmaq_n_f32(sum, vreinterpretq_f32_s32(low[v]), step);
      here[v] = vfmaq_f32(here[v], sum, vld1q_f32(g.scales_of(q) + j + 4 * v));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kTiles; ++v)
    vst1q_f32(sums + j + 4 * v, here[v]);
}

template <By kBy, int64_t kRows>
void add_dots_of(const QuantizedRows& rows, const Groups& g) {
  constexpr int kTiles = 4;
  const bool ask = g.count == 1 && rows.count == 1 && !g.last;
  int64_t j = 0;
  for (; j + kTiles * kTile <= g.columns; j += kTiles * kTile)
    for (int64_t i = 0; i < rows.count; ++i)
      add_tiles<kBy, kTiles, kRows>(rows.x + i * rows.apart, g, j, ask, rows.sums + i * rows.ld);
  for (; j + kTile <= g.columns; j += kTile)
    for (int64_t i = 0; i < rows.count; ++i)
      add_tiles<kBy, 1, kRows>(rows.x + i * rows.apart, g, j, false, rows.sums + i * rows.ld);
  add_groups<kBy == By::Nibbles>(rows, g, j);
}

template <By kBy>
void add_dots(const QuantizedRows& rows, const Groups& g) {
  constexpr int64_t kUsual = 4;  // rows of bytes, of groups of 32
  for (int64_t i = 0; i < rows.count; ++i)
    for (int64_t q = 0; q < g.count; ++q)
      if (float step = rows.x[i * rows.apart + q].step; !(step > kLeastStep && step < kMostStep))
        return add_groups<kBy == By::Nibbles>(rows, g, 0);
  g.rows == kUsual ? add_dots_of<kBy, kUsual>(rows, g) : add_dots_of<kBy, 0>(rows, g);
}
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

inline bool has_dots() {
  static const bool has = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return has;
}
inline bool has_matrices() {
  constexpr unsigned long kMatrixBytes = 1 << 13;  // HWCAP2_I8MM, which older headers do not have
  static const bool has = (getauxval(AT_HWCAP2) & kMatrixBytes) != 0;
  return has;
}

}  // namespace sheaf::kernels::neon

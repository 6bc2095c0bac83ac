// Simd<T> for AArch64 (NEON): see simd.h, which includes this file.
#pragma once
#include <arm_neon.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/simd/neon_row_tile.h"
#include "kernels/simd/neon_tile.h"
#include "scalar/math/exp_log.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

using scalar::BFloat16;
using scalar::Float16;

namespace neon {
template <class T>
struct Simd;
template <>
struct Simd<float> {
  using V = float32x4_t;
  // 8 x 12: 24 accumulators, 2 + 3 operands: 29 of 32 registers.
  static constexpr int kLanes = 4, kTileRows = 8, kTileVectors = 3, kDepth = 4;
  static V zero() { return vdupq_n_f32(0); }
  static V load(const float* p) { return vld1q_f32(p); }
  static V load(const BFloat16* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16)); }
  static V load(const Float16* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits))); }
  [[gnu::always_inline]] static void transpose(V (&y)[4]) {
    float32x4x2_t even = vtrnq_f32(y[0], y[1]), odd = vtrnq_f32(y[2], y[3]);
    y[0] = vcombine_f32(vget_low_f32(even.val[0]), vget_low_f32(odd.val[0]));
    y[1] = vcombine_f32(vget_low_f32(even.val[1]), vget_low_f32(odd.val[1]));
    y[2] = vcombine_f32(vget_high_f32(even.val[0]), vget_high_f32(odd.val[0]));
    y[3] = vcombine_f32(vget_high_f32(even.val[1]), vget_high_f32(odd.val[1]));
  }
  template <int kVectors, class B>
  [[gnu::always_inline]] static void load_row(V (&y)[kVectors], const B* b) {
    // Moves bf16 bits to the upper halves with a permutation: more units execute permutations than shifts.
    if constexpr (std::is_same_v<B, BFloat16> && kVectors % 2 == 0) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v += 2) {
        uint16x8_t both = vld1q_u16(&b[v * kLanes].bits), none = vdupq_n_u16(0);
        y[v] = vreinterpretq_f32_u16(vzip1q_u16(none, both));
        y[v + 1] = vreinterpretq_f32_u16(vzip2q_u16(none, both));
      }
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        y[v] = load(b + v * kLanes);
    }
  }
  static void store(float* p, V v) { vst1q_f32(p, v); }
  static V splat(float x) { return vdupq_n_f32(x); }
  static V add(V a, V b) { return vaddq_f32(a, b); }
  static V sub(V a, V b) { return vsubq_f32(a, b); }
  static V mul(V a, V b) { return vmulq_f32(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
  static V max(V a, V b) { return vmaxnmq_f32(a, b); }
  static V if_less(V x, V c, V a, V b) { return vbslq_f32(vcltq_f32(x, c), a, b); }
  // Fixes the instruction order: u is computed before all later stays_here.
  static void stays_here(V& u) { asm volatile("" : "+w"(u)); }
  static void stays_here(V& u0, V& u1) { asm volatile("" : "+w"(u0), "+w"(u1)); }
  static V pow2(V shifted) {
    constexpr int32_t kOffset =
        scalar::math::FloatFormat<float>::kBias - std::bit_cast<int32_t>(scalar::math::FloatFormat<float>::kRoundToInt);
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(kOffset)), 23));
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void begin(V (&acc)[kRows][kVectors], const float* a, const V (&y)[kVectors]) {
    if constexpr (kRows % 4 == 0) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i += 4) {
        V x = load(a + i);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          acc[i][v] = vmulq_laneq_f32(y[v], x, 0);
          acc[i + 1][v] = vmulq_laneq_f32(y[v], x, 1);
          acc[i + 2][v] = vmulq_laneq_f32(y[v], x, 2);
          acc[i + 3][v] = vmulq_laneq_f32(y[v], x, 3);
        }
      }
    } else {
      for (int i = 0; i < kRows; ++i)
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = mul(splat(a[i]), y[v]);
    }
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void multiply(V (&acc)[kRows][kVectors], const float* a, const V (&y)[kVectors]) {
    if constexpr (kRows % 4 == 0) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i += 4) {
        V x = load(a + i);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          acc[i][v] = vfmaq_laneq_f32(acc[i][v], y[v], x, 0);
          acc[i + 1][v] = vfmaq_laneq_f32(acc[i + 1][v], y[v], x, 1);
          acc[i + 2][v] = vfmaq_laneq_f32(acc[i + 2][v], y[v], x, 2);
          acc[i + 3][v] = vfmaq_laneq_f32(acc[i + 3][v], y[v], x, 3);
        }
      }
    } else {
      for (int i = 0; i < kRows; ++i)
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = fma(splat(a[i]), y[v], acc[i][v]);
    }
  }
  // Loads rows one step ahead and keeps the multiplications in the order written (see neon_tile.h).
  template <int kRows, int kVectors, class Row, class F>
    requires(kRows % 4 == 0)
  [[gnu::always_inline]] static void multiply_steps(V (&acc)[kRows][kVectors], int64_t steps, const float* a,
                                                    int64_t lda, Row&& row, F&& each) {
    constexpr int kFours = kRows / 4;
    V x[kFours], even[kVectors], odd[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      even[v] = row(v);
#pragma GCC unroll 4
    for (int f = 0; f < kFours; ++f)
      x[f] = load(a + 4 * f);
    auto step = [&]<bool last>(const V(&y)[kVectors], V(&soon)[kVectors]) __attribute__((always_inline)) {
      a += lda;
#pragma GCC unroll 4
      for (int f = 0; f < kFours; ++f) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          fma_lane<0>(acc[4 * f][v], y[v], x[f]), fma_lane<1>(acc[4 * f + 1][v], y[v], x[f]);
          if (!last && f == 0) soon[v] = row(v), stays_here(soon[v]);
          fma_lane<2>(acc[4 * f + 2][v], y[v], x[f]), fma_lane<3>(acc[4 * f + 3][v], y[v], x[f]);
        }
        if (!last) x[f] = load(a + 4 * f), stays_here(x[f]);
      }
    };
    for (; steps > 2; steps -= 2) {
      each();
      step.template operator()<false>(even, odd);
      step.template operator()<false>(odd, even);
    }
    if (steps == 2) {
      step.template operator()<false>(even, odd);
      step.template operator()<true>(odd, even);
    } else {
      step.template operator()<true>(even, odd);
    }
  }
  static constexpr int64_t kNear = 384;
  static void tile(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, const float* from, float* to,
                   int64_t ldc, bool add, const std::byte* line, int64_t step, int64_t period, int64_t near) {
    constexpr int64_t kSize = sizeof(float);
    tile_8x12(k, a, lda * kSize, b, ldb * kSize, from, to, ldc * kSize, add, line, step, period, near);
  }
  static void prefetching_tile(int64_t k, const float* a, const float* b, float* to, int64_t ldc, bool add,
                               const std::byte* line, const int64_t* places, int64_t near) {
    asking_tile_8x12(k, a, b, to, ldc * sizeof(float), add, line, places, near);
  }
  static void packing_tile(int64_t k, const float* a, const float* b, int64_t ldb, float* packed, float* to,
                           int64_t ldc, bool add, int64_t ahead) {
    constexpr int64_t kSize = sizeof(float);
    packing_tile_8x12(k, a, b, ldb * kSize, packed, to, ldc * kSize, add, ahead * kSize);
  }
  static void row_tile(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* to, int64_t ldc,
                       bool add, const std::byte* line, int64_t step, int64_t period) {
    constexpr int64_t kSize = sizeof(float);
    row_tile_8x8(k, a, lda * kSize, b, ldb * kSize, to, ldc * kSize, add, line, step, period);
  }
  static void leaving_row_tile(int64_t k, const float* a, int64_t lda, float* left, const float* b, int64_t ldb,
                               float* to, int64_t ldc, bool add, const std::byte* line, int64_t step, int64_t period) {
    constexpr int64_t kSize = sizeof(float);
    leaving_row_tile_8x8(k, a, lda * kSize, left, b, ldb * kSize, to, ldc * kSize, add, line, step, period);
  }
  static void taking_row_tile(int64_t k, const float* left, const float* b, int64_t ldb, float* to, int64_t ldc,
                              bool add, const std::byte* line, int64_t step, int64_t period) {
    constexpr int64_t kSize = sizeof(float);
    taking_row_tile_8x8(k, left, b, ldb * kSize, to, ldc * kSize, add, line, step, period);
  }
  // If elements are widened, keeps the multiplications of a row of b together: GCC would widen several rows first, and
  // spill.
  template <int kRows, int kVectors, class B>
  [[gnu::always_inline]] static void multiply_rows(V (&acc)[kRows][kVectors], const float* a, int64_t lda, const B* b,
                                                   int64_t ldb) {
    V x[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
      x[i] = load(a + i * lda);
    auto step = [&]<int l>(std::integral_constant<int, l>) __attribute__((always_inline)) {
      V y[kVectors];
      load_row(y, b + l * ldb);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          acc[i][v] = vfmaq_laneq_f32(acc[i][v], y[v], x[i], l);
          if constexpr (sizeof(B) < sizeof(float))
            if (v % 2) stays_here(acc[i][v - 1], acc[i][v]);
        }
    };
    step(std::integral_constant<int, 0>{});
    step(std::integral_constant<int, 1>{});
    step(std::integral_constant<int, 2>{});
    step(std::integral_constant<int, 3>{});
  }
  // load_eight loads eight narrow elements; low and high widen them with shifts: in a loop of multiplications on a
  // Neoverse-N1 a permutation takes 3.1 cycles, shifts take 2.2.
  static uint16x8_t load_eight(const BFloat16* p) { return vld1q_u16(&p->bits); }
  static float16x8_t load_eight(const Float16* p) { return vreinterpretq_f16_u16(vld1q_u16(&p->bits)); }
  static V low(uint16x8_t x) { return vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(x), 16)); }
  static V high(uint16x8_t x) { return vreinterpretq_f32_u32(vshll_high_n_u16(x, 16)); }
  static V low(float16x8_t x) { return vcvt_f32_f16(vget_low_f16(x)); }
  static V high(float16x8_t x) { return vcvt_high_f32_f16(x); }

  // acc += x[lane] y. If several follow, GCC would extract the lane first: one more instruction for the same units.
  template <int lane>
  static void fma_lane(V& acc, V y, V x) {
    asm volatile("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(acc) : "w"(y), "w"(x), "i"(lane));
  }

  // Loads a row during the multiplications of the previous one, and sums as soon as their registers are free: see
  // multiply_row_steps. Reads one step of sums past the last one.
  template <int kRows, class B, class F>
  static int64_t add_narrow_rows(float* sums, int64_t n, const float* x, const B* b, int64_t ldb, F&& each) {
    constexpr int kEights = 4, kStep = kEights * 8;
    if (n < kStep) return 0;
    using Eight = decltype(load_eight(b));
    V acc[kEights][2], factor[kRows];
    Eight now[kEights], soon[kEights];
#pragma GCC unroll 8
    for (int l = 0; l < kRows; ++l)
      factor[l] = splat(x[l]);
    auto load_sums = [&](int e, const float* from) __attribute__((always_inline)) {
      acc[e][0] = load(from + 8 * e), acc[e][1] = load(from + 8 * e + 4);
    };
#pragma GCC unroll 4
    for (int e = 0; e < kEights; ++e)
      load_sums(e, sums), now[e] = load_eight(b + 8 * e);
    int64_t j = 0;
    for (; j + kStep <= n; j += kStep, sums += kStep) {
#pragma GCC unroll 8
      for (int l = 0; l < kRows; ++l) {
        each(l, j);
        const B* from = l + 1 < kRows        ? b + (l + 1) * ldb + j
                        : j + 2 * kStep <= n ? b + j + kStep
                                             : b;  // memory past the last row may not exist
#pragma GCC unroll 4
        for (int e = 0; e < kEights; ++e)
          soon[e] = load_eight(from + 8 * e);
        asm volatile("" : "+w"(soon[0]), "+w"(soon[1]), "+w"(soon[2]), "+w"(soon[3]));
#pragma GCC unroll 4
        for (int e = 0; e < kEights; ++e) {
          V y0 = low(now[e]), y1 = high(now[e]);
          stays_here(y0, y1);
          acc[e][0] = fma(y0, factor[l], acc[e][0]), acc[e][1] = fma(y1, factor[l], acc[e][1]);
          stays_here(acc[e][0], acc[e][1]);
          if (l + 1 == kRows) {
            store(sums + 8 * e, acc[e][0]), store(sums + 8 * e + 4, acc[e][1]);
            load_sums(e, sums + kStep);
            stays_here(acc[e][0], acc[e][1]);
          }
          now[e] = soon[e];
        }
      }
    }
    return j;
  }

  // Loads rows of b one k ahead of their use and those of a as soon as their registers are free, and keeps the
  // multiplications of a row together: 98 % of the peak; GCC's schedules reached 80 to 92 %. Multiplications that wait
  // for a load would fill the issue queue and block later ones that could run.
  template <int kRows, class F>
  [[gnu::always_inline]] static void multiply_row_steps(V (&acc)[kRows][2], int64_t steps, const float* a, int64_t lda,
                                                        const float* b, int64_t ldb, F&& each) {
    if (steps == 0) return;
    V x[kRows], y0 = load(b), y1 = load(b + kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
      x[i] = load(a + i * lda);
    auto multiply = [&]<int l>(std::integral_constant<int, l>, V u0, V u1) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        V s0 = vfmaq_laneq_f32(acc[i][0], u0, x[i], l), s1 = vfmaq_laneq_f32(acc[i][1], u1, x[i], l);
        stays_here(s0, s1);
        acc[i][0] = s0, acc[i][1] = s1;
      }
    };
    for (int64_t step = 0; step < steps - 1; ++step, a += kDepth, b += kDepth * ldb) {
      each();
      V z0 = load(b + ldb), z1 = load(b + ldb + kLanes);
      stays_here(z0, z1);
      multiply(std::integral_constant<int, 0>{}, y0, y1);
      V w0 = load(b + 2 * ldb), w1 = load(b + 2 * ldb + kLanes);
      stays_here(w0, w1);
      multiply(std::integral_constant<int, 1>{}, z0, z1);
      V q0 = load(b + 3 * ldb), q1 = load(b + 3 * ldb + kLanes);
      stays_here(q0, q1);
      multiply(std::integral_constant<int, 2>{}, w0, w1);
      y0 = load(b + 4 * ldb), y1 = load(b + 4 * ldb + kLanes);
      stays_here(y0, y1);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        V s0 = vfmaq_laneq_f32(acc[i][0], q0, x[i], 3), s1 = vfmaq_laneq_f32(acc[i][1], q1, x[i], 3);
        stays_here(s0, s1);
        acc[i][0] = s0, acc[i][1] = s1;
        x[i] = load(a + kDepth + i * lda);
      }
    }
    multiply(std::integral_constant<int, 0>{}, y0, y1);
    multiply(std::integral_constant<int, 1>{}, load(b + ldb), load(b + ldb + kLanes));
    multiply(std::integral_constant<int, 2>{}, load(b + 2 * ldb), load(b + 2 * ldb + kLanes));
    multiply(std::integral_constant<int, 3>{}, load(b + 3 * ldb), load(b + 3 * ldb + kLanes));
  }
  static constexpr int kQuads = 1;
  [[gnu::always_inline]] static void load_quads(V (&y)[1], const float* b, int64_t) { y[0] = load(b); }
  [[gnu::always_inline]] static void load_quads(V (&y)[2], const BFloat16* b, int64_t) { load_row(y, b); }
  [[gnu::always_inline]] static void load_quads(V (&y)[2], const Float16* b, int64_t) {
    float16x8_t both = vreinterpretq_f16_u16(vld1q_u16(&b->bits));
    y[0] = vcvt_f32_f16(vget_low_f16(both)), y[1] = vcvt_high_f32_f16(both);
  }
  static V splat_quad(const float* x) { return load(x); }
  static void sum_quads(V v, float* out) { *out = vaddvq_f32(v); }  // adds adjacent lanes first
  [[gnu::always_inline]] static void transpose_quads(V (&y)[4]) {
    auto pairs = [](V v) { return vreinterpretq_f64_f32(v); };
    auto single = [](float64x2_t v) { return vreinterpretq_f32_f64(v); };
    float64x2_t even = pairs(vtrn1q_f32(y[0], y[1])), odd = pairs(vtrn2q_f32(y[0], y[1])),
                even2 = pairs(vtrn1q_f32(y[2], y[3])), odd2 = pairs(vtrn2q_f32(y[2], y[3]));
    y[0] = single(vzip1q_f64(even, even2)), y[1] = single(vzip1q_f64(odd, odd2)),
    y[2] = single(vzip2q_f64(even, even2)), y[3] = single(vzip2q_f64(odd, odd2));
  }
  [[gnu::always_inline]] static void sum_sixteens(const V (&acc)[4][4], float* out) {
    V y[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c)
      y[c] = add(add(acc[c][0], acc[c][2]), add(acc[c][1], acc[c][3]));
    transpose_quads(y);
    store(out, add(add(y[0], y[1]), add(y[2], y[3])));
  }
  template <class S>
  static constexpr int kColumnDepth = 16 / sizeof(S);
  // acc[i] += x[i][e] y[e] for e < 4, in order; a vector y[e] holds an element of each of four columns.
  template <int kRows>
  [[gnu::always_inline]] static void multiply_transposed(V (&acc)[kRows], const V (&y)[4], const float* x,
                                                         int64_t ldx) {
    float32x4_t r[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
      r[i] = vld1q_f32(x + i * ldx);
    auto step = [&]<int e>(std::integral_constant<int, e>) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i)
        acc[i] = vfmaq_laneq_f32(acc[i], y[e], r[i], e);
    };
    step(std::integral_constant<int, 0>{});
    step(std::integral_constant<int, 1>{});
    step(std::integral_constant<int, 2>{});
    step(std::integral_constant<int, 3>{});
  }

  // Multiplies with a vector of consecutive elements of each of four columns, ldb apart.
  template <int kRows>
  [[gnu::always_inline]] static void multiply_columns(V (&acc)[kRows], const float* b, int64_t ldb, const float* x,
                                                      int64_t ldx) {
    V y[4] = {load(b), load(b + ldb), load(b + 2 * ldb), load(b + 3 * ldb)};
    transpose_quads(y);
    multiply_transposed(acc, y, x, ldx);
  }

  // bf16: a table lookup extracts an element of each column from two registers and sets the low halves to zero.
  template <int kRows>
  [[gnu::always_inline]] static void multiply_columns(V (&acc)[kRows], const BFloat16* b, int64_t ldb, const float* x,
                                                      int64_t ldx) {
    auto column = [&](int c) { return vreinterpretq_u64_u16(vld1q_u16(&b[c * ldb].bits)); };
    uint64x2_t c0 = column(0), c1 = column(1), c2 = column(2), c3 = column(3);
    auto bytes = [](uint64x2_t v) { return vreinterpretq_u8_u64(v); };
    uint8x16x2_t four[2] = {{{bytes(vzip1q_u64(c0, c1)), bytes(vzip1q_u64(c2, c3))}},
                            {{bytes(vzip2q_u64(c0, c1)), bytes(vzip2q_u64(c2, c3))}}};
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      float32x4_t y[4];
#pragma GCC unroll 4
      for (uint32_t e = 0; e < 4; ++e) {
        uint32_t low = 0xffff | (2 * e) << 16 | (2 * e + 1) << 24;  // 0xff: out of range, gives 0
        const uint32x4_t places = {low, low + 0x08080000, low + 0x10100000, low + 0x18180000};
        y[e] = vreinterpretq_f32_u8(vqtbl2q_u8(four[half], vreinterpretq_u8_u32(places)));
      }
      multiply_transposed(acc, y, x + half * 4, ldx);
    }
  }

  template <int kRows>
  [[gnu::always_inline]] static void multiply_columns(V (&acc)[kRows], const Float16* b, int64_t ldb, const float* x,
                                                      int64_t ldx) {
    auto column = [&](int c) { return vld1q_u16(&b[c * ldb].bits); };
    auto words = [](uint16x8_t v) { return vreinterpretq_u32_u16(v); };
    uint16x8_t c0 = column(0), c1 = column(1), c2 = column(2), c3 = column(3);
    uint16x8_t even = vtrn1q_u16(c0, c1), odd = vtrn2q_u16(c0, c1), even2 = vtrn1q_u16(c2, c3),
               odd2 = vtrn2q_u16(c2, c3);
    // Elements 0 and 4, 2 and 6, 1 and 5, 3 and 7 of the four columns.
    auto low = [&](uint16x8_t a, uint16x8_t b) { return vreinterpretq_f16_u32(vtrn1q_u32(words(a), words(b))); };
    auto high = [&](uint16x8_t a, uint16x8_t b) { return vreinterpretq_f16_u32(vtrn2q_u32(words(a), words(b))); };
    float16x8_t e04 = low(even, even2), e26 = high(even, even2), e15 = low(odd, odd2), e37 = high(odd, odd2);
    float32x4_t first[4] = {vcvt_f32_f16(vget_low_f16(e04)), vcvt_f32_f16(vget_low_f16(e15)),
                            vcvt_f32_f16(vget_low_f16(e26)), vcvt_f32_f16(vget_low_f16(e37))};
    float32x4_t second[4] = {vcvt_high_f32_f16(e04), vcvt_high_f32_f16(e15), vcvt_high_f32_f16(e26),
                             vcvt_high_f32_f16(e37)};
    multiply_transposed(acc, first, x, ldx);
    multiply_transposed(acc, second, x + 4, ldx);
  }
};
template <>
struct Simd<double> {
  using V = float64x2_t;
  static constexpr int kLanes = 2, kTileRows = 8, kTileVectors = 3, kDepth = 2;
  static V zero() { return vdupq_n_f64(0); }
  static V load(const double* p) { return vld1q_f64(p); }
  template <int kVectors>
  [[gnu::always_inline]] static void load_row(V (&y)[kVectors], const double* b) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      y[v] = load(b + v * kLanes);
  }
  static void store(double* p, V v) { vst1q_f64(p, v); }
  static V splat(double x) { return vdupq_n_f64(x); }
  static V add(V a, V b) { return vaddq_f64(a, b); }
  static V sub(V a, V b) { return vsubq_f64(a, b); }
  static V mul(V a, V b) { return vmulq_f64(a, b); }
  static V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
  static V max(V a, V b) { return vmaxnmq_f64(a, b); }
  static V if_less(V x, V c, V a, V b) { return vbslq_f64(vcltq_f64(x, c), a, b); }
  static V pow2(V shifted) {
    constexpr int64_t kOffset = scalar::math::FloatFormat<double>::kBias -
                                std::bit_cast<int64_t>(scalar::math::FloatFormat<double>::kRoundToInt);
    return vreinterpretq_f64_s64(vshlq_n_s64(vaddq_s64(vreinterpretq_s64_f64(shifted), vdupq_n_s64(kOffset)), 52));
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void begin(V (&acc)[kRows][kVectors], const double* a, const V (&y)[kVectors]) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = mul(splat(a[i]), y[v]);
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void multiply(V (&acc)[kRows][kVectors], const double* a, const V (&y)[kVectors]) {
    if constexpr (kRows % 2 == 0) {
#pragma GCC unroll 4
      for (int i = 0; i < kRows; i += 2) {
        V x = load(a + i);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          acc[i][v] = vfmaq_laneq_f64(acc[i][v], y[v], x, 0);
          acc[i + 1][v] = vfmaq_laneq_f64(acc[i + 1][v], y[v], x, 1);
        }
      }
    } else {
      for (int i = 0; i < kRows; ++i)
        for (int v = 0; v < kVectors; ++v)
          acc[i][v] = fma(splat(a[i]), y[v], acc[i][v]);
    }
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void multiply_rows(V (&acc)[kRows][kVectors], const double* a, int64_t lda,
                                                   const double* b, int64_t ldb) {
    V y0[kVectors], y1[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      y0[v] = load(b + v * kLanes), y1[v] = load(b + ldb + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      V x = load(a + i * lda);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        acc[i][v] = vfmaq_laneq_f64(vfmaq_laneq_f64(acc[i][v], y0[v], x, 0), y1[v], x, 1);
    }
  }
};
}  // namespace neon

}  // namespace sheaf::kernels

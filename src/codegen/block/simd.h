// Vectors of floats for the register tiles: Simd<float> and Simd<double> per instruction set, and what a tile does with
// them. Elements are computed independently, each operation rounded once, so the width of a vector shows in no bit.
#pragma once
#include <bit>
#include <cstdint>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include "loop/math/exp_log.h"
#include "loop/scalar_ops.h"

namespace sheaf::codegen::block {

using loop::scalar::BFloat16;
using loop::scalar::Float16;

// Each Simd<T> has, beside arithmetic:
//   max(a, b)                b where a is NaN; b is never NaN
//   if_less(x, c, a, b)      x < c ? a : b
//   pow2(shifted)            2^n where the sum with loop::math's kRoundToInt left n in the low bits
//   load_row(y, b)           consecutive elements into all of y
//   multiply(acc, a, y)      acc[i][v] += a[i] y[v]
//   begin(acc, a, y)         acc[i][v] = a[i] y[v]
//   multiply_rows(acc, a, lda, b, ldb)   acc[i][v] += a[i * lda + l] b[l * ldb + v's elements] for kDepth l, in order
//   multiply_columns<kLanewise>(acc, b, ldb, x, ldx)   for floats: acc[i] += x[i * ldx + l] b[l + lane * ldb] for kColumnDepth<element of b> l, in order;
//                            lanewise each lane has an x of its own, x[i * ldx + l * kLanes + lane]
//   load_quads(y, b, ldb)    for floats, not the portable one: y[i] has elements 4 i to 4 i + 3 of each of kQuads columns, for as many y as make 16 bytes of a column
//   splat_quad(x)            x[0] to x[3] for each of the columns
//   sum_quads(v, out)        out[r] = (v[0] + v[1]) + (v[2] + v[3]) of quad r
//   transpose_quads(y)       element e of quad r of y[c] is element c of that quad of y[e], for four y
//   multiply_row_steps(acc, steps, a, lda, b, ldb, each)   so many of these, each() before every one; only where that is faster than a loop
//   add_narrow_rows<kRows>(sums, n, x, b, ldb, each)   sums[j] += x[l] b[l * ldb + j] for kRows l, in order, and so many j of the n as make whole steps, which it returns;
//                            each(l, j) before every one; only where that is faster than multiply_rows
// Simd<float> also loads kLanes elements of the narrow floats, widened, and has
//   transpose(y)             of as many vectors as there are lanes; not the portable one

#if defined(__aarch64__)
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
  static void transpose(V (&y)[4]) {
    float32x4x2_t even = vtrnq_f32(y[0], y[1]), odd = vtrnq_f32(y[2], y[3]);
    y[0] = vcombine_f32(vget_low_f32(even.val[0]), vget_low_f32(odd.val[0]));
    y[1] = vcombine_f32(vget_low_f32(even.val[1]), vget_low_f32(odd.val[1]));
    y[2] = vcombine_f32(vget_high_f32(even.val[0]), vget_high_f32(odd.val[0]));
    y[3] = vcombine_f32(vget_high_f32(even.val[1]), vget_high_f32(odd.val[1]));
  }
  template <int kVectors, class B>
  static void load_row(V (&y)[kVectors], const B* b) {
    // Bits of bf16 are brought to the upper halves by a permutation, which more units do than shift.
    if constexpr (std::is_same_v<B, BFloat16> && kVectors % 2 == 0) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; v += 2) {
        uint16x8_t both = vld1q_u16(&b[v * kLanes].bits), none = vdupq_n_u16(0);
        y[v] = vreinterpretq_f32_u16(vzip1q_u16(none, both));
        y[v + 1] = vreinterpretq_f32_u16(vzip2q_u16(none, both));
      }
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) y[v] = load(b + v * kLanes);
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
  // Computed before any others that are to stay here and come later.
  static void stays_here(V& u0, V& u1) { asm volatile("" : "+w"(u0), "+w"(u1)); }
  static V pow2(V shifted) {
    constexpr int32_t kOffset = loop::math::FloatFormat<float>::kBias - std::bit_cast<int32_t>(loop::math::FloatFormat<float>::kRoundToInt);
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(kOffset)), 23));
  }
  template <int kRows, int kVectors>
  static void begin(V (&acc)[kRows][kVectors], const float* a, const V (&y)[kVectors]) {
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
        for (int v = 0; v < kVectors; ++v) acc[i][v] = mul(splat(a[i]), y[v]);
    }
  }
  template <int kRows, int kVectors>
  static void multiply(V (&acc)[kRows][kVectors], const float* a, const V (&y)[kVectors]) {
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
        for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(splat(a[i]), y[v], acc[i][v]);
    }
  }
  // The multiplications of a row of b stay together where elements are widened: GCC would widen several rows first, and run out of registers.
  template <int kRows, int kVectors, class B>
  static void multiply_rows(V (&acc)[kRows][kVectors], const float* a, int64_t lda, const B* b, int64_t ldb) {
    V x[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) x[i] = load(a + i * lda);
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
  // Eight narrow elements as they are in memory, and widened: by shifts, since beside multiplications a permutation takes 3.1 cycles for them on a Neoverse-N1, and
  // shifts 2.2.
  static uint16x8_t load_eight(const BFloat16* p) { return vld1q_u16(&p->bits); }
  static float16x8_t load_eight(const Float16* p) { return vreinterpretq_f16_u16(vld1q_u16(&p->bits)); }
  static V low(uint16x8_t x) { return vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(x), 16)); }
  static V high(uint16x8_t x) { return vreinterpretq_f32_u32(vshll_high_n_u16(x, 16)); }
  static V low(float16x8_t x) { return vcvt_f32_f16(vget_low_f16(x)); }
  static V high(float16x8_t x) { return vcvt_high_f32_f16(x); }

  // A row is loaded while the one before it is multiplied, and sums as soon as their registers are free: see multiply_row_steps. Reads a step behind the last one,
  // of the first row and of the sums.
  template <int kRows, class B, class F>
  static int64_t add_narrow_rows(float* sums, int64_t n, const float* x, const B* b, int64_t ldb, F&& each) {
    constexpr int kEights = 4, kStep = kEights * 8;
    if (n < kStep) return 0;
    using Eight = decltype(load_eight(b));
    V acc[kEights][2], factor[kRows];
    Eight now[kEights], soon[kEights];
#pragma GCC unroll 8
    for (int l = 0; l < kRows; ++l) factor[l] = splat(x[l]);
    auto load_sums = [&](int e, const float* from) __attribute__((always_inline)) { acc[e][0] = load(from + 8 * e), acc[e][1] = load(from + 8 * e + 4); };
#pragma GCC unroll 4
    for (int e = 0; e < kEights; ++e) load_sums(e, sums), now[e] = load_eight(b + 8 * e);
    int64_t j = 0;
    for (; j + kStep <= n; j += kStep, sums += kStep) {
#pragma GCC unroll 8
      for (int l = 0; l < kRows; ++l) {
        each(l, j);
        const B* from = l + 1 < kRows ? b + (l + 1) * ldb + j : b + j + kStep;
#pragma GCC unroll 4
        for (int e = 0; e < kEights; ++e) soon[e] = load_eight(from + 8 * e);
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

  // Rows of b are loaded one k ahead of their use, those of a as soon as their registers are free, and a row's multiplications stay together: 98 % of
  // the peak, where the orders that GCC chose gave 80 to 92. Multiplications that wait for a load fill the queue in front of those that could run.
  template <int kRows, class F>
  static void multiply_row_steps(V (&acc)[kRows][2], int64_t steps, const float* a, int64_t lda, const float* b, int64_t ldb, F&& each) {
    if (steps == 0) return;
    V x[kRows], y0 = load(b), y1 = load(b + kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) x[i] = load(a + i * lda);
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
  static void load_quads(V (&y)[1], const float* b, int64_t) { y[0] = load(b); }
  static void load_quads(V (&y)[2], const BFloat16* b, int64_t) { load_row(y, b); }
  static void load_quads(V (&y)[2], const Float16* b, int64_t) {
    float16x8_t both = vreinterpretq_f16_u16(vld1q_u16(&b->bits));
    y[0] = vcvt_f32_f16(vget_low_f16(both)), y[1] = vcvt_high_f32_f16(both);
  }
  static V splat_quad(const float* x) { return load(x); }
  static void sum_quads(V v, float* out) { *out = vaddvq_f32(v); }  // adds neighbours first
  static void transpose_quads(V (&y)[4]) {
    auto pairs = [](V v) { return vreinterpretq_f64_f32(v); };
    auto single = [](float64x2_t v) { return vreinterpretq_f32_f64(v); };
    float64x2_t even = pairs(vtrn1q_f32(y[0], y[1])), odd = pairs(vtrn2q_f32(y[0], y[1])), even2 = pairs(vtrn1q_f32(y[2], y[3])), odd2 = pairs(vtrn2q_f32(y[2], y[3]));
    y[0] = single(vzip1q_f64(even, even2)), y[1] = single(vzip1q_f64(odd, odd2)), y[2] = single(vzip2q_f64(even, even2)), y[3] = single(vzip2q_f64(odd, odd2));
  }
  template <class S>
  static constexpr int kColumnDepth = 16 / sizeof(S);
  template <bool kLanewise>
  static constexpr int kLaneStep = kLanewise ? kLanes : 1;  // from the x of a k to that of the next
  // acc[i] += x[i][e] y[e] for e < 4, in order; a vector y[e] holds an element of each of four columns.
  template <bool kLanewise, int kRows>
  static void multiply_turned(V (&acc)[kRows], const V (&y)[4], const float* x, int64_t ldx) {
    if constexpr (kLanewise) {
#pragma GCC unroll 4
      for (int e = 0; e < 4; ++e)
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) acc[i] = vfmaq_f32(acc[i], y[e], vld1q_f32(x + i * ldx + e * kLanes));
      return;
    }
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
  template <bool kLanewise, int kRows>
  static void multiply_columns(V (&acc)[kRows], const float* b, int64_t ldb, const float* x, int64_t ldx) {
    V y[4] = {load(b), load(b + ldb), load(b + 2 * ldb), load(b + 3 * ldb)};
    transpose_quads(y);
    multiply_turned<kLanewise>(acc, y, x, ldx);
  }

  // bf16: a table lookup takes an element of each column out of two registers and puts zeros below it.
  template <bool kLanewise, int kRows>
  static void multiply_columns(V (&acc)[kRows], const BFloat16* b, int64_t ldb, const float* x, int64_t ldx) {
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
      multiply_turned<kLanewise>(acc, y, x + half * 4 * kLaneStep<kLanewise>, ldx);
    }
  }

  template <bool kLanewise, int kRows>
  static void multiply_columns(V (&acc)[kRows], const Float16* b, int64_t ldb, const float* x, int64_t ldx) {
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
    multiply_turned<kLanewise>(acc, first, x, ldx);
    multiply_turned<kLanewise>(acc, second, x + 4 * kLaneStep<kLanewise>, ldx);
  }
};
template <>
struct Simd<double> {
  using V = float64x2_t;
  static constexpr int kLanes = 2, kTileRows = 8, kTileVectors = 3, kDepth = 2;
  static V zero() { return vdupq_n_f64(0); }
  static V load(const double* p) { return vld1q_f64(p); }
  template <int kVectors>
  static void load_row(V (&y)[kVectors], const double* b) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) y[v] = load(b + v * kLanes);
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
    constexpr int64_t kOffset = loop::math::FloatFormat<double>::kBias - std::bit_cast<int64_t>(loop::math::FloatFormat<double>::kRoundToInt);
    return vreinterpretq_f64_s64(vshlq_n_s64(vaddq_s64(vreinterpretq_s64_f64(shifted), vdupq_n_s64(kOffset)), 52));
  }
  template <int kRows, int kVectors>
  static void begin(V (&acc)[kRows][kVectors], const double* a, const V (&y)[kVectors]) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[i][v] = mul(splat(a[i]), y[v]);
  }
  template <int kRows, int kVectors>
  static void multiply(V (&acc)[kRows][kVectors], const double* a, const V (&y)[kVectors]) {
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
        for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(splat(a[i]), y[v], acc[i][v]);
    }
  }
  template <int kRows, int kVectors>
  static void multiply_rows(V (&acc)[kRows][kVectors], const double* a, int64_t lda, const double* b, int64_t ldb) {
    V y0[kVectors], y1[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) y0[v] = load(b + v * kLanes), y1[v] = load(b + ldb + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      V x = load(a + i * lda);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[i][v] = vfmaq_laneq_f64(vfmaq_laneq_f64(acc[i][v], y0[v], x, 0), y1[v], x, 1);
    }
  }
};
}  // namespace neon
#else

// Any machine: one element at a time, through libm's fma where the machine has none.
namespace portable {
template <class T>
struct Simd {
  using V = T;
  static constexpr int kLanes = 1, kTileRows = 4, kTileVectors = 4, kDepth = 1;
  static V zero() { return 0; }
  template <class S>
  static V load(const S* p) { return loop::scalar::convert<T>(*p); }
  template <int kVectors, class B>
  static void load_row(V (&y)[kVectors], const B* b) {
    for (int v = 0; v < kVectors; ++v) y[v] = load(b + v);
  }
  static void store(T* p, V v) { *p = v; }
  static V splat(T x) { return x; }
  static V add(V a, V b) { return a + b; }
  static V sub(V a, V b) { return a - b; }
  static V mul(V a, V b) { return a * b; }
  static V fma(V a, V b, V c) { return loop::scalar::apply<loop::Op::Fma>(a, b, c); }
  static V max(V a, V b) { return a > b ? a : b; }
  static V if_less(V x, V c, V a, V b) { return x < c ? a : b; }
  static V pow2(V shifted) {
    using Format = loop::math::FloatFormat<T>;
    using Bits = std::make_unsigned_t<loop::math::BitsOf<T>>;
    Bits n = std::bit_cast<Bits>(shifted) - std::bit_cast<Bits>(Format::kRoundToInt) + Bits(Format::kBias);
    return std::bit_cast<T>(Bits(n << Format::kMantissaBits));
  }
  template <int kRows, int kVectors>
  static void begin(V (&acc)[kRows][kVectors], const T* a, const V (&y)[kVectors]) {
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = a[i] * y[v];
  }
  template <int kRows, int kVectors>
  static void multiply(V (&acc)[kRows][kVectors], const T* a, const V (&y)[kVectors]) {
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(a[i], y[v], acc[i][v]);
  }
  template <int kRows, int kVectors, class B>
  static void multiply_rows(V (&acc)[kRows][kVectors], const T* a, int64_t lda, const B* b, int64_t) {
    for (int i = 0; i < kRows; ++i)
      for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(a[i * lda], load(b + v), acc[i][v]);
  }
  template <class S>
  static constexpr int kColumnDepth = 1;
  template <bool, int kRows, class S>
  static void multiply_columns(V (&acc)[kRows], const S* b, int64_t, const T* x, int64_t ldx) {
    for (int i = 0; i < kRows; ++i) acc[i] = fma(x[i * ldx], load(b), acc[i]);
  }
};
}  // namespace portable

#if defined(__x86_64__)
// Tiles by broadcasting elements of a: the same text for every width. A macro, because the functions must be compiled inside
// the region of each instruction set.
#define SHEAF_BROADCAST_TILES(T)                                                                                    \
  template <int kVectors, class B>                                                                                  \
  static void load_row(V (&y)[kVectors], const B* b) {                                                              \
    _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) y[v] = load(b + v * kLanes);                         \
  }                                                                                                                 \
  template <int kRows, int kVectors>                                                                                \
  static void begin(V (&acc)[kRows][kVectors], const T* a, const V (&y)[kVectors]) {                                \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRows; ++i) {                                                      \
      V x = splat(a[i]);                                                                                            \
      _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v) acc[i][v] = mul(x, y[v]);                          \
    }                                                                                                               \
  }                                                                                                                 \
  template <int kRows, int kVectors>                                                                                \
  static void multiply(V (&acc)[kRows][kVectors], const T* a, const V (&y)[kVectors]) {                             \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRows; ++i) {                                                      \
      V x = splat(a[i]);                                                                                            \
      _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(x, y[v], acc[i][v]);               \
    }                                                                                                               \
  }                                                                                                                 \
  template <int kRows, int kVectors, class B>                                                                       \
  static void multiply_rows(V (&acc)[kRows][kVectors], const T* a, int64_t lda, const B* b, int64_t) {              \
    V y[kVectors];                                                                                                  \
    load_row(y, b);                                                                                                 \
    _Pragma("GCC unroll 16") for (int i = 0; i < kRows; ++i) {                                                      \
      V x = splat(a[i * lda]);                                                                                      \
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) acc[i][v] = fma(x, y[v], acc[i][v]);               \
    }                                                                                                               \
  }

// By blocks of as many columns as a vector has lanes, transposed in registers.
#define SHEAF_TURNED_COLUMNS                                                                                        \
  template <class S>                                                                                                \
  static constexpr int kColumnDepth = kLanes;                                                                       \
  template <bool kLanewise, int kRows, class S>                                                                     \
  static void multiply_columns(V (&acc)[kRows], const S* b, int64_t ldb, const float* x, int64_t ldx) {             \
    V y[kLanes];                                                                                                    \
    _Pragma("GCC unroll 16") for (int e = 0; e < kLanes; ++e) y[e] = load(b + e * ldb);                             \
    transpose(y);                                                                                                   \
    _Pragma("GCC unroll 16") for (int e = 0; e < kLanes; ++e)                                                       \
      _Pragma("GCC unroll 4") for (int i = 0; i < kRows; ++i) {                                                     \
        V each = kLanewise ? load(x + i * ldx + e * kLanes) : splat(x[i * ldx + e]);                                \
        acc[i] = fma(each, y[e], acc[i]);                                                                           \
      }                                                                                                             \
  }

#define SHEAF_TRANSPOSED_QUADS(mm)                                                                                  \
  static void transpose_quads(V (&y)[4]) {                                                                          \
    V low = mm##_unpacklo_ps(y[0], y[1]), high = mm##_unpackhi_ps(y[0], y[1]);                                      \
    V low2 = mm##_unpacklo_ps(y[2], y[3]), high2 = mm##_unpackhi_ps(y[2], y[3]);                                    \
    y[0] = mm##_shuffle_ps(low, low2, 0x44), y[1] = mm##_shuffle_ps(low, low2, 0xee);                               \
    y[2] = mm##_shuffle_ps(high, high2, 0x44), y[3] = mm##_shuffle_ps(high, high2, 0xee);                           \
  }

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
namespace avx2 {
template <class T>
struct Simd;
template <>
struct Simd<float> {
  using V = __m256;
  // 6 x 16: 12 accumulators + 2 loads + 1 broadcast, which just fits the 16 registers.
  static constexpr int kLanes = 8, kTileRows = 6, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm256_setzero_ps(); }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load(const BFloat16* p) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16)); }
  static V load(const Float16* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static V splat(float x) { return _mm256_set1_ps(x); }
  static V add(V a, V b) { return _mm256_add_ps(a, b); }
  static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm256_max_ps(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, c, _CMP_LT_OQ)); }
  static V pow2(V shifted) {
    constexpr int32_t kOffset = loop::math::FloatFormat<float>::kBias - std::bit_cast<int32_t>(loop::math::FloatFormat<float>::kRoundToInt);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(kOffset)), 23));
  }
  SHEAF_BROADCAST_TILES(float)
  static void transpose(V (&y)[8]) {
    V pairs[8], fours[8];
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 2) pairs[i] = _mm256_unpacklo_ps(y[i], y[i + 1]), pairs[i + 1] = _mm256_unpackhi_ps(y[i], y[i + 1]);
    _Pragma("GCC unroll 8") for (int i = 0; i < 8; i += 4) {
      fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44), fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
      fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44), fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    _Pragma("GCC unroll 8") for (int i = 0; i < 4; ++i) y[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20), y[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
  SHEAF_TURNED_COLUMNS
  static constexpr int kQuads = 2;
  static __m128i load_half(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static void load_quads(V (&y)[1], const float* b, int64_t ldb) { y[0] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(b)), _mm_loadu_ps(b + ldb), 1); }
  static void load_quads(V (&y)[2], const BFloat16* b, int64_t ldb) {
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(b)), load_half(b + ldb), 1), none = _mm256_setzero_si256();
    y[0] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(none, both)), y[1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(none, both));
  }
  static void load_quads(V (&y)[2], const Float16* b, int64_t ldb) {
    __m128i first = load_half(b), second = load_half(b + ldb);
    y[0] = _mm256_cvtph_ps(_mm_unpacklo_epi64(first, second)), y[1] = _mm256_cvtph_ps(_mm_unpackhi_epi64(first, second));
  }
  static V splat_quad(const float* x) { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(x)); }
  static void sum_quads(V v, float* out) {
    V pairs = _mm256_hadd_ps(v, v), all = _mm256_hadd_ps(pairs, pairs);
    out[0] = _mm256_cvtss_f32(all), out[1] = _mm_cvtss_f32(_mm256_extractf128_ps(all, 1));
  }
  SHEAF_TRANSPOSED_QUADS(_mm256)
};
template <>
struct Simd<double> {
  using V = __m256d;
  static constexpr int kLanes = 4, kTileRows = 6, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm256_setzero_pd(); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static V splat(double x) { return _mm256_set1_pd(x); }
  static V add(V a, V b) { return _mm256_add_pd(a, b); }
  static V sub(V a, V b) { return _mm256_sub_pd(a, b); }
  static V mul(V a, V b) { return _mm256_mul_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static V max(V a, V b) { return _mm256_max_pd(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm256_blendv_pd(b, a, _mm256_cmp_pd(x, c, _CMP_LT_OQ)); }
  static V pow2(V shifted) {
    constexpr int64_t kOffset = loop::math::FloatFormat<double>::kBias - std::bit_cast<int64_t>(loop::math::FloatFormat<double>::kRoundToInt);
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(_mm256_castpd_si256(shifted), _mm256_set1_epi64x(kOffset)), 52));
  }
  SHEAF_BROADCAST_TILES(double)
};
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma,f16c")
#endif
namespace avx512 {
template <class T>
struct Simd;
template <>
struct Simd<float> {
  using V = __m512;
  // 14 x 32: 28 accumulators + 2 loads + 1 broadcast: 31 of 32 registers.
  static constexpr int kLanes = 16, kTileRows = 14, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm512_setzero_ps(); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load(const BFloat16* p) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16)); }
  static V load(const Float16* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static V splat(float x) { return _mm512_set1_ps(x); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm512_max_ps(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, c, _CMP_LT_OQ), b, a); }
  static V pow2(V shifted) {
    constexpr int32_t kOffset = loop::math::FloatFormat<float>::kBias - std::bit_cast<int32_t>(loop::math::FloatFormat<float>::kRoundToInt);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(kOffset)), 23));
  }
  SHEAF_BROADCAST_TILES(float)
  static void transpose(V (&y)[16]) {
    V pairs[16], fours[16], eights[16];
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i += 2) pairs[i] = _mm512_unpacklo_ps(y[i], y[i + 1]), pairs[i + 1] = _mm512_unpackhi_ps(y[i], y[i + 1]);
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i += 4) {
      fours[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44), fours[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
      fours[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44), fours[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    // fours[4 g + e] has element e (+ 4 per quarter) of columns 4 g to 4 g + 3.
    _Pragma("GCC unroll 16") for (int e = 0; e < 4; ++e) {
      eights[e] = _mm512_shuffle_f32x4(fours[e], fours[e + 4], 0x88), eights[e + 4] = _mm512_shuffle_f32x4(fours[e], fours[e + 4], 0xdd);
      eights[e + 8] = _mm512_shuffle_f32x4(fours[e + 8], fours[e + 12], 0x88), eights[e + 12] = _mm512_shuffle_f32x4(fours[e + 8], fours[e + 12], 0xdd);
    }
    _Pragma("GCC unroll 16") for (int e = 0; e < 4; ++e) {
      y[e] = _mm512_shuffle_f32x4(eights[e], eights[e + 8], 0x88), y[e + 8] = _mm512_shuffle_f32x4(eights[e], eights[e + 8], 0xdd);
      y[e + 4] = _mm512_shuffle_f32x4(eights[e + 4], eights[e + 12], 0x88), y[e + 12] = _mm512_shuffle_f32x4(eights[e + 4], eights[e + 12], 0xdd);
    }
  }
  SHEAF_TURNED_COLUMNS
  // Two pairs of columns.
  static constexpr int kQuads = 4;
  template <int kVectors, class B>
  static void load_quads(V (&y)[kVectors], const B* b, int64_t ldb) {
    __m256 first[kVectors], second[kVectors];
    avx2::Simd<float>::load_quads(first, b, ldb);
    avx2::Simd<float>::load_quads(second, b + 2 * ldb, ldb);
    _Pragma("GCC unroll 2") for (int i = 0; i < kVectors; ++i)
      y[i] = _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(first[i])), _mm256_castps_pd(second[i]), 1));
  }
  static V splat_quad(const float* x) { return _mm512_broadcast_f32x4(_mm_loadu_ps(x)); }
  static void sum_quads(V v, float* out) {
    avx2::Simd<float>::sum_quads(_mm512_castps512_ps256(v), out);
    avx2::Simd<float>::sum_quads(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)), out + 2);
  }
  SHEAF_TRANSPOSED_QUADS(_mm512)
};
template <>
struct Simd<double> {
  using V = __m512d;
  static constexpr int kLanes = 8, kTileRows = 14, kTileVectors = 2, kDepth = 1;
  static V zero() { return _mm512_setzero_pd(); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static V splat(double x) { return _mm512_set1_pd(x); }
  static V add(V a, V b) { return _mm512_add_pd(a, b); }
  static V sub(V a, V b) { return _mm512_sub_pd(a, b); }
  static V mul(V a, V b) { return _mm512_mul_pd(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static V max(V a, V b) { return _mm512_max_pd(a, b); }
  static V if_less(V x, V c, V a, V b) { return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, c, _CMP_LT_OQ), b, a); }
  static V pow2(V shifted) {
    constexpr int64_t kOffset = loop::math::FloatFormat<double>::kBias - std::bit_cast<int64_t>(loop::math::FloatFormat<double>::kRoundToInt);
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_add_epi64(_mm512_castpd_si512(shifted), _mm512_set1_epi64(kOffset)), 52));
  }
  SHEAF_BROADCAST_TILES(double)
};
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef SHEAF_BROADCAST_TILES
#undef SHEAF_TURNED_COLUMNS
#undef SHEAF_TRANSPOSED_QUADS
#endif
#endif

}  // namespace sheaf::codegen::block

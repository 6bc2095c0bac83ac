// bf16 micro-kernels with bfmmla, which multiplies four k of two rows by four k of two columns: packed operands are
// [k / 4][rows][4]. Included by bf16_dot.cpp.
#pragma once
#include <arm_neon.h>

#include "kernels/gemm/bf16_dot.h"
#include "kernels/gemm/packing.h"

namespace sheaf::kernels {
namespace {

#include "kernels/simd/bf16_dot_begin.h"

inline uint16x8_t load(const BFloat16* p) { return vld1q_u16(&p->bits); }
inline void stays_here(uint16x8_t& x) { asm volatile("" : "+w"(x)); }

// Two rows by two columns: sums += the products of four k. Inline assembly keeps the order written: GCC's own schedule
// spills registers.
inline void multiply(float32x4_t& sums, uint16x8_t rows, uint16x8_t columns) {
  asm volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sums) : "w"(rows), "w"(columns));
}

// The largest tile, 8 x 12, in assembly (see simd/neon_tile.h). Registers: v0 to v3 hold four k of two rows each, v4
// and v5 alternately four k of two columns, v8 to v31 the sums of two rows by two columns, six for each pair of rows.
// clang-format off: it wraps these macros differently each time
#define SHEAF_MMA(sum, x, y) "bfmmla v" #sum ".4s, v" #x ".8h, v" #y ".8h\n"
#define SHEAF_LOAD(q, from, offset) "ldr q" #q ", [" from ", #" #offset "]\n"
#define SHEAF_COLUMNS(s0, s1, s2, s3, y, next, offset, meanwhile) \
  SHEAF_MMA(s0, 0, y)                                             \
  SHEAF_LOAD(next, "%[b]", offset) SHEAF_MMA(s1, 1, y) SHEAF_MMA(s2, 2, y) meanwhile SHEAF_MMA(s3, 3, y)
#define SHEAF_STEP(b1, b2, b3, b4, b5, b6, a0, a1, a2, a3, one, two, three, four)                   \
  SHEAF_COLUMNS(8, 14, 20, 26, 4, 5, b1, one)                                                       \
  SHEAF_COLUMNS(9, 15, 21, 27, 5, 4, b2, two)                                                       \
  SHEAF_COLUMNS(10, 16, 22, 28, 4, 5, b3, three)                                                    \
  SHEAF_COLUMNS(11, 17, 23, 29, 5, 4, b4, four)                                                     \
  SHEAF_COLUMNS(12, 18, 24, 30, 4, 5, b5, )                                                         \
  SHEAF_MMA(13, 0, 5)                                                                               \
  SHEAF_LOAD(4, "%[b]", b6) SHEAF_LOAD(0, "%[a]", a0) SHEAF_MMA(19, 1, 5) SHEAF_LOAD(1, "%[a]", a1) \
      SHEAF_MMA(25, 2, 5) SHEAF_LOAD(2, "%[a]", a2) SHEAF_MMA(31, 3, 5) SHEAF_LOAD(3, "%[a]", a3)
#define SHEAF_LAST_STEP                     \
  SHEAF_COLUMNS(8, 14, 20, 26, 4, 5, 16, )  \
  SHEAF_COLUMNS(9, 15, 21, 27, 5, 4, 32, )  \
  SHEAF_COLUMNS(10, 16, 22, 28, 4, 5, 48, ) \
  SHEAF_COLUMNS(11, 17, 23, 29, 5, 4, 64, ) \
  SHEAF_COLUMNS(12, 18, 24, 30, 4, 5, 80, ) \
  SHEAF_MMA(13, 0, 5) SHEAF_MMA(19, 1, 5) SHEAF_MMA(25, 2, 5) SHEAF_MMA(31, 3, 5)
// Writes two rows of C, the one at `to` and the next, from six sums: stores them, or adds them to C.
#define SHEAF_ROW(how, s0, s1, s2, s3, s4, s5)                                                     \
  how("zip1", s0, s1, s2, s3, s4, s5) "add %[to], %[to], %[ldc]\n" how("zip2", s0, s1, s2, s3, s4, \
                                                                       s5) "add %[to], %[to], %[ldc]\n"
#define SHEAF_ZIP(zip, s0, s1, s2, s3, s4, s5)                                                                       \
  zip " v4.2d, v" #s0 ".2d, v" #s1 ".2d\n" zip " v5.2d, v" #s2 ".2d, v" #s3 ".2d\n" zip " v6.2d, v" #s4 ".2d, v" #s5 \
      ".2d\n"
#define SHEAF_PUT                                                                                                   \
  "fadd v4.4s, v4.4s, v0.4s\n fadd v5.4s, v5.4s, v1.4s\n fadd v6.4s, v6.4s, v2.4s\n stp q4, q5, [%[to]]\n str q6, " \
  "[%[to], #32]\n"
#define SHEAF_STORE_ROW(zip, s0, s1, s2, s3, s4, s5) SHEAF_ZIP(zip, s0, s1, s2, s3, s4, s5) SHEAF_PUT
#define SHEAF_ADD_ROW(zip, s0, s1, s2, s3, s4, s5) \
  "ldp q0, q1, [%[to]]\n ldr q2, [%[to], #32]\n" SHEAF_ZIP(zip, s0, s1, s2, s3, s4, s5) SHEAF_PUT
#define SHEAF_ROWS(how)                \
  SHEAF_ROW(how, 8, 9, 10, 11, 12, 13) \
  SHEAF_ROW(how, 14, 15, 16, 17, 18, 19) SHEAF_ROW(how, 20, 21, 22, 23, 24, 25) SHEAF_ROW(how, 26, 27, 28, 29, 30, 31)
#define SHEAF_ZEROS                                                                                                   \
  "movi v8.4s, #0\n movi v9.4s, #0\n movi v10.4s, #0\n movi v11.4s, #0\n movi v12.4s, #0\n movi v13.4s, #0\n movi "   \
  "v14.4s, #0\n movi v15.4s, #0\n"                                                                                    \
  "movi v16.4s, #0\n movi v17.4s, #0\n movi v18.4s, #0\n movi v19.4s, #0\n movi v20.4s, #0\n movi v21.4s, #0\n movi " \
  "v22.4s, #0\n movi v23.4s, #0\n"                                                                                    \
  "movi v24.4s, #0\n movi v25.4s, #0\n movi v26.4s, #0\n movi v27.4s, #0\n movi v28.4s, #0\n movi v29.4s, #0\n movi " \
  "v30.4s, #0\n movi v31.4s, #0\n"
// clang-format on

inline void dot_tile(int64_t k, const BFloat16* a, const BFloat16* b, float* to, int64_t ldc, bool add,
                     const Prefetch& prefetch) {
  int64_t adding = add, left = k / Bf16DotKernels::kTogether - 2,
          twice = 2 * prefetch.step;  // offset of the third prefetch of a period
  const std::byte* line = prefetch.at;
  ldc *= sizeof(float);
  asm volatile(SHEAF_ZEROS
      "ldp q0, q1, [%[a]]\n ldp q2, q3, [%[a], #32]\n ldr q4, [%[b]]\n"
      "cmp %[left], #0\n"
      "b.le 2f\n"
      ".p2align 5\n"
      "1:\n"
      SHEAF_STEP(16, 32, 48, 64, 80, 96, 64, 80, 96, 112, "prfm pldl2keep, [%[line]]\n",
                 "prfm pldl1keep, [%[a], #512]\n", "prfm pldl2keep, [%[line], %[step]]\n",
                 "subs %[left], %[left], #2\n")
      SHEAF_STEP(112, 128, 144, 160, 176, 192, 128, 144, 160, 176, "prfm pldl2keep, [%[line], %[twice]]\n",
                 "prfm pldl1keep, [%[a], #576]\n", "add %[line], %[line], %[period]\n", )
      "add %[a], %[a], #128\n"
      "add %[b], %[b], #192\n"
      "b.gt 1b\n"
      "2:\n"
      "adds %[left], %[left], #1\n"
      "b.le 4f\n"
      "3:\n"
      SHEAF_STEP(16, 32, 48, 64, 80, 96, 64, 80, 96, 112, , , , )
      "add %[a], %[a], #64\n"
      "add %[b], %[b], #96\n"
      "subs %[left], %[left], #1\n"
      "b.gt 3b\n"
      "4:\n"
      SHEAF_LAST_STEP
      "cbnz %[adding], 5f\n"
      "movi v0.4s, #0\n movi v1.4s, #0\n movi v2.4s, #0\n"  // adding to +0 makes -0 +0
      SHEAF_ROWS(SHEAF_STORE_ROW)
      "b 6f\n"
      "5:\n"
      SHEAF_ROWS(SHEAF_ADD_ROW)
      "6:\n"
      : [a] "+&r"(a), [b] "+&r"(b), [left] "+&r"(left), [line] "+&r"(line), [to] "+&r"(to)
      : [step] "r"(prefetch.step), [twice] "r"(twice), [period] "r"(prefetch.period), [ldc] "r"(ldc),
        [adding] "r"(adding)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
        "v30", "v31");
}

// `tiles` tiles, one below the other: see packed_tiles in micro_kernels_code.h. Software-pipelined: loads the operands
// of a step during the multiplications of another.
template <int kRows, int kVectors>
void dot_tiles(int64_t tiles, int64_t k, const BFloat16* a, const BFloat16* b, float* c, int64_t ldc, bool first,
               Prefetch prefetch) {
  constexpr int kRowPairs = kRows / 2, kWide = 2 * kVectors,
                kDot = 8;  // kWide: 2 x 2 sums across a tile; kDot: elements of two rows
  if constexpr (kRows == 8 && kVectors == 3) {
    for (; tiles > 0; --tiles, a += k * kRows, c += kRows * ldc) {
      dot_tile(k, a, b, c, ldc, !first, prefetch);
      prefetch.pass(1);
    }
    return;
  }
  for (; tiles > 0; --tiles, c += kRows * ldc) {
    float32x4_t acc[kRowPairs][kWide];
#pragma GCC unroll 8
    for (int i = 0; i < kRowPairs; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j)
        acc[i][j] = vdupq_n_f32(0);
    const BFloat16* column = b;
    uint16x8_t x[kRowPairs], y = load(column);
#pragma GCC unroll 8
    for (int i = 0; i < kRowPairs; ++i)
      x[i] = load(a + i * kDot);
    a += kRowPairs * kDot;
    auto fours = [&]<bool last>() __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j) {
        uint16x8_t soon = y;
        if (!last || j + 1 < kWide) soon = load(column + (j + 1) * kDot);
        stays_here(soon);
#pragma GCC unroll 8
        for (int i = 0; i < kRowPairs; ++i) {
          multiply(acc[i][j], x[i], y);
          if (!last && j + 1 == kWide) {
            x[i] = load(a + i * kDot);
            stays_here(x[i]);
          }
        }
        y = soon;
      }
    };
    for (int64_t l = Bf16DotKernels::kTogether; l < k; l += Bf16DotKernels::kTogether) {
      fours.template operator()<false>();
      a += kRowPairs * kDot, column += kWide * kDot;
    }
    fours.template operator()<true>();
#pragma GCC unroll 8
    for (int i = 0; i < kRowPairs; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kWide; j += 2) {
        float64x2_t left = vreinterpretq_f64_f32(acc[i][j]), right = vreinterpretq_f64_f32(acc[i][j + 1]);
        auto add = [&](float* to, float64x2_t sums) __attribute__((always_inline)) {
          vst1q_f32(to, vaddq_f32(first ? vdupq_n_f32(0) : vld1q_f32(to), vreinterpretq_f32_f64(sums)));
        };
        add(c + 2 * i * ldc + 2 * j, vzip1q_f64(left, right));
        add(c + (2 * i + 1) * ldc + 2 * j, vzip2q_f64(left, right));
      }
  }
}

void dot_tiles_across(int64_t tiles, int64_t k, const BFloat16* a, const BFloat16* b, float* c, int64_t ldc, bool first,
                      Prefetch prefetch) {
  constexpr int64_t kWidth = 12;
  for (; tiles > 0; --tiles, b += k * kWidth, c += kWidth) {
    dot_tile(k, a, b, c, ldc, !first, prefetch);
    prefetch.pass(1);
  }
}

#include "kernels/simd/bf16_dot_end.h"

using Half8 = uint16_t __attribute__((vector_size(16)));
using Long2 = uint64_t __attribute__((vector_size(16)));
template <class V, class S>
V load_as(const S* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Like `pack`, with four k of a row adjacent: dst[l / 4][i][l % 4]; k is padded with zeros.
void pack_fours(BFloat16* dst, const MatrixView<BFloat16>& src, int64_t i0, int64_t l0, int64_t used, int64_t width,
                int64_t k) {
  auto element = [&](int64_t i, int64_t l) { return i < used && l < k ? *src.at(i0 + i, l0 + l) : BFloat16{}; };
  auto one_by_one = [&](int64_t from_i, int64_t to_i, int64_t from_l, int64_t to_l) {
    for (int64_t l = from_l; l < to_l; ++l)
      for (int64_t i = from_i; i < to_i; ++i)
        dst[l / 4 * 4 * width + i * 4 + l % 4] = element(i, l);
  };
  int64_t filled = round_up(k, 4), whole_i = 0, whole_l = 0;
  auto store = [](BFloat16* to, auto v) { std::memcpy(to, &v, sizeof v); };
  if (src.k == 1) {
    // 16 k of each row at a time, since the lines of many rows may map to one cache set. Stores are consecutive, which
    // takes half the time of scattered ones.
    constexpr int64_t kStep = 16;
    whole_i = used / 2 * 2, whole_l = k / kStep * kStep;
    auto transpose = [&]<int kRows>(std::integral_constant<int, kRows>, int64_t first) __attribute__((always_inline)) {
      for (int64_t l = 0; l < whole_l; l += kStep) {
        const BFloat16* row = src.at(i0 + first, l0 + l);
        BFloat16* to = dst + l * width + first * 4;
        Long2 x[kRows][2];
#pragma GCC unroll 12
        for (int i = 0; i < kRows; ++i)
          x[i][0] = load_as<Long2>(row + i * src.minor), x[i][1] = load_as<Long2>(row + i * src.minor + 8);
#pragma GCC unroll 4
        for (int e = 0; e < 4; ++e, to += 4 * width)
#pragma GCC unroll 6
          for (int i = 0; i < kRows; i += 2)
            store(to + i * 4, e % 2 ? __builtin_shufflevector(x[i][e / 2], x[i + 1][e / 2], 1, 3)
                                    : __builtin_shufflevector(x[i][e / 2], x[i + 1][e / 2], 0, 2));
      }
    };
    int64_t i = 0;
    for (; i + 12 <= whole_i; i += 12)
      transpose(std::integral_constant<int, 12>{}, i);
    for (; i + 8 <= whole_i; i += 8)
      transpose(std::integral_constant<int, 8>{}, i);
    for (; i < whole_i; i += 2)
      transpose(std::integral_constant<int, 2>{}, i);
  } else if (src.minor == 1) {
    whole_i = used / 4 * 4, whole_l = k / 4 * 4;
    for (int64_t l = 0; l < whole_l; l += 4) {
      const BFloat16* row = src.at(i0, l0 + l);
      BFloat16* to = dst + l * width;
      int64_t i = 0;
      for (; i + 8 <= whole_i; i += 8, row += 8, to += 32) {
        Half8 a = load_as<Half8>(row), b = load_as<Half8>(row + src.k), c = load_as<Half8>(row + 2 * src.k),
              d = load_as<Half8>(row + 3 * src.k);
        Half8 ac = __builtin_shufflevector(a, c, 0, 8, 1, 9, 2, 10, 3, 11),
              bd = __builtin_shufflevector(b, d, 0, 8, 1, 9, 2, 10, 3, 11);
        Half8 ac2 = __builtin_shufflevector(a, c, 4, 12, 5, 13, 6, 14, 7, 15),
              bd2 = __builtin_shufflevector(b, d, 4, 12, 5, 13, 6, 14, 7, 15);
        store(to, __builtin_shufflevector(ac, bd, 0, 8, 1, 9, 2, 10, 3, 11));
        store(to + 8, __builtin_shufflevector(ac, bd, 4, 12, 5, 13, 6, 14, 7, 15));
        store(to + 16, __builtin_shufflevector(ac2, bd2, 0, 8, 1, 9, 2, 10, 3, 11));
        store(to + 24, __builtin_shufflevector(ac2, bd2, 4, 12, 5, 13, 6, 14, 7, 15));
      }
      if (i < whole_i) {
        auto half = [&](int64_t r) { return Long2{load_as<uint64_t>(row + r * src.k), 0}; };
        Half8 a = Half8(half(0)), b = Half8(half(1)), c = Half8(half(2)), d = Half8(half(3));
        Half8 ac = __builtin_shufflevector(a, c, 0, 8, 1, 9, 2, 10, 3, 11),
              bd = __builtin_shufflevector(b, d, 0, 8, 1, 9, 2, 10, 3, 11);
        store(to, __builtin_shufflevector(ac, bd, 0, 8, 1, 9, 2, 10, 3, 11));
        store(to + 8, __builtin_shufflevector(ac, bd, 4, 12, 5, 13, 6, 14, 7, 15));
      }
    }
  }
  one_by_one(whole_i, width, 0, whole_l);
  one_by_one(0, width, whole_l, filled);
}

// 8 x 12: 24 accumulators, 4 + 2 operands: 30 of 32 registers.
constexpr Bf16DotKernels kBf16DotKernels{8,
                                         8,
                                         12,
                                         4,
                                         1.5,
                                         pack_fours,
                                         {{{dot_tiles<2, 1>, dot_tiles<2, 2>, dot_tiles<2, 3>},
                                           {dot_tiles<4, 1>, dot_tiles<4, 2>, dot_tiles<4, 3>},
                                           {dot_tiles<8, 1>, dot_tiles<8, 2>, dot_tiles<8, 3>},
                                           {dot_tiles<8, 1>, dot_tiles<8, 2>, dot_tiles<8, 3>}}},
                                         dot_tiles_across};

}  // namespace
}  // namespace sheaf::kernels

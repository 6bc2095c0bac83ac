#include "codegen/block/gemm_pairs.h"

#include "support/error.h"
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace sheaf::codegen::block {

#if defined(__aarch64__)
namespace {

using loop::scalar::BFloat16;

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")
#endif

inline uint16x8_t load(const BFloat16* p) { return vld1q_u16(&p->bits); }
inline void stays_here(uint16x8_t& x) { asm volatile("" : "+w"(x)); }

// Two rows by two columns: sums += the products of four k. In the order written: GCC's own needs more registers than there are.
inline void multiply(float32x4_t& sums, uint16x8_t rows, uint16x8_t columns) {
  asm volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sums) : "w"(rows), "w"(columns));
}

// `tiles` tiles, one below the other: see packed_tiles in gemm_kernels.h. Operands of a step are loaded while others are multiplied.
template <int kRows, int kVectors>
void pair_tiles(int64_t tiles, int64_t k, const BFloat16* a, const BFloat16* b, float* c, int64_t ldc, bool first, Ahead ahead) {
  constexpr int kTall = kRows / 2, kWide = 2 * kVectors, kPair = 8;  // pairs of rows and of columns; elements of a pair
  for (; tiles > 0; --tiles, c += kRows * ldc) {
    float32x4_t acc[kTall][kWide];
#pragma GCC unroll 8
    for (int i = 0; i < kTall; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j) acc[i][j] = vdupq_n_f32(0);
    const BFloat16* column = b;
    const std::byte* ask = ahead.at;
    int64_t step = ahead.step;
    uint16x8_t x[kTall], y = load(column);
#pragma GCC unroll 8
    for (int i = 0; i < kTall; ++i) x[i] = load(a + i * kPair);
    a += kTall * kPair;
    auto fours = [&]<bool last>() __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int j = 0; j < kWide; ++j) {
        uint16x8_t soon = y;
        if (!last || j + 1 < kWide) soon = load(column + (j + 1) * kPair);
        stays_here(soon);
#pragma GCC unroll 8
        for (int i = 0; i < kTall; ++i) {
          multiply(acc[i][j], x[i], y);
          if (!last && j + 1 == kWide) {
            x[i] = load(a + i * kPair);
            stays_here(x[i]);
          }
        }
        y = soon;
      }
    };
    for (int64_t l = PairKernels::kTogether; l < k; l += PairKernels::kTogether) {
      __builtin_prefetch(a + 256);
      __builtin_prefetch(ask, 0, 2);
      ask += step;
      step = ahead.turn - step;
      fours.template operator()<false>();
      a += kTall * kPair, column += kWide * kPair;
    }
    fours.template operator()<true>();
#pragma GCC unroll 8
    for (int i = 0; i < kTall; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kWide; j += 2) {
        float64x2_t left = vreinterpretq_f64_f32(acc[i][j]), right = vreinterpretq_f64_f32(acc[i][j + 1]);
        auto add = [&](float* to, float64x2_t sums) __attribute__((always_inline)) {
          vst1q_f32(to, vaddq_f32(first ? vdupq_n_f32(0) : vld1q_f32(to), vreinterpretq_f32_f64(sums)));
        };
        add(c + 2 * i * ldc + 2 * j, vzip1q_f64(left, right));
        add(c + (2 * i + 1) * ldc + 2 * j, vzip2q_f64(left, right));
      }
    ahead.pass(1);
  }
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace

// 8 x 12: 24 accumulators, 4 + 2 operands: 30 of 32 registers.
const PairKernels& pair_kernels() {
  static constexpr PairKernels kKernels{8, 12, 4,
      {{{pair_tiles<2, 1>, pair_tiles<2, 2>, pair_tiles<2, 3>}, {pair_tiles<4, 1>, pair_tiles<4, 2>, pair_tiles<4, 3>}, {pair_tiles<8, 1>, pair_tiles<8, 2>, pair_tiles<8, 3>}}}};
  return kKernels;
}
#else
const PairKernels& pair_kernels() { INVARIANT(false, "no instructions for products of bf16"); }
#endif

}  // namespace sheaf::codegen::block

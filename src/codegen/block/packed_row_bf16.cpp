#include "codegen/block/packed_row.h"
#include "loop/library.h"
#include "support/error.h"
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace sheaf::codegen::block {

#if defined(__aarch64__)
namespace {

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")
#endif

constexpr int kWidth = 8, kChains = loop::kRowChains;

// Even and odd columns have sums of their own, since an instruction takes every other element.
template <int lane>
inline void add_row(float32x4_t (&acc)[2], bfloat16x4_t x, bfloat16x8_t y) {
  acc[0] = vbfmlalbq_lane_f32(acc[0], y, x, lane);
  acc[1] = vbfmlaltq_lane_f32(acc[1], y, x, lane);
}

// See panels_in_turns in packed_row_kernels.h.
template <int kStreams>
void multiply_panels(const StoredRow<BFloat16>& row, const BFloat16* b, int64_t apart, int64_t k, float* out, int64_t out_apart) {
  auto load = [](const BFloat16* p) __attribute__((always_inline)) { return vreinterpretq_bf16_u16(vld1q_u16(&p->bits)); };
  const BFloat16* x = row.stored;
  const int64_t block = loop::contract_block(k);
  float32x4_t total[kStreams][2];
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s) total[s][0] = total[s][1] = vdupq_n_f32(0);
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t depth = std::min(block, k - begin);
    float32x4_t acc[kStreams][kChains][2];
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c) acc[s][c][0] = acc[s][c][1] = vdupq_n_f32(0);
    int64_t l = 0;
    for (; l + kChains <= depth; l += kChains, x += kChains, b += kChains * kWidth) {
      bfloat16x4_t four = vreinterpret_bf16_u16(vld1_u16(&x->bits));
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s) {
        const BFloat16* from = b + s * apart;
        add_row<0>(acc[s][0], four, load(from));
        add_row<1>(acc[s][1], four, load(from + kWidth));
        add_row<2>(acc[s][2], four, load(from + 2 * kWidth));
        add_row<3>(acc[s][3], four, load(from + 3 * kWidth));
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      if (l + c >= depth) break;
      bfloat16x4_t one = vreinterpret_bf16_u16(vdup_n_u16(x->bits));
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s) add_row<0>(acc[s][c], one, load(b + s * apart));
      ++x, b += kWidth;
    }
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s)
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h)
        total[s][h] = vaddq_f32(total[s][h], vaddq_f32(vaddq_f32(acc[s][0][h], acc[s][1][h]), vaddq_f32(acc[s][2][h], acc[s][3][h])));
  }
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s) {
    vst1q_f32(out + s * out_apart, vzip1q_f32(total[s][0], total[s][1]));
    vst1q_f32(out + s * out_apart + 4, vzip2q_f32(total[s][0], total[s][1]));
  }
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace

const RowPanels<BFloat16>& bf16_row_panels() {
  static constexpr RowPanels<BFloat16> kPanels{2, kWidth, multiply_panels<2>};
  return kPanels;
}
#else
const RowPanels<BFloat16>& bf16_row_panels() { INVARIANT(false, "no instructions for bf16"); }
#endif

}  // namespace sheaf::codegen::block

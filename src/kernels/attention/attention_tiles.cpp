#include "kernels/attention/attention_tiles.h"

#include <cmath>

#include "runtime/target.h"
#if defined(__x86_64__)
#include "kernels/attention/attention_tiles_amx.h"
#endif

namespace sheaf::kernels {
namespace {

// The offset of an element in a packed tile of b, where pairs of k are interleaved.
int64_t right_offset(int64_t column, int64_t k) {
  return column / kAmxRows * kAmxElements + k / 2 * kAmxDepth + 2 * (column % kAmxRows) + k % 2;
}
int64_t left_offset(int64_t row, int64_t k) { return row * kAmxDepth + k; }

void multiply_plain(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, int64_t ld, bool first) {
  for (int64_t i = 0; i < kAmxPanel; ++i)
    for (int64_t j = 0; j < kAmxPanel; ++j) {
      float total = first ? 0 : c[i * ld + j];
      for (int64_t step = 0; step < steps; ++step) {
        const BFloat16 *x = a + step * 2 * kAmxElements, *y = b + step * 2 * kAmxElements;
        scalar::Bf16TileSum sum;
        for (int64_t k = 0; k < kAmxDepth; k += 2)
          sum.add(x[left_offset(i, k)], y[right_offset(j, k)], x[left_offset(i, k + 1)], y[right_offset(j, k + 1)]);
        total = sum.added_to(total);
      }
      c[i * ld + j] = total;
    }
}

template <int64_t (*offset)(int64_t, int64_t), bool rows_are_terms>
void pack_plain(int64_t n, const float* from, BFloat16* to) {
  for (int64_t i = 0; i < round_up(n, kAmxPanel); ++i)
    for (int64_t c = 0; c < kAmxPanel; ++c) {
      const float x = i < n ? from[i * kAmxPanel + c] : 0;
      const int64_t row = i % kAmxPanel, panel = i / kAmxPanel * 2 * kAmxElements;
      to[panel + (rows_are_terms ? offset(c, row) : offset(row, c))] =
          std::fpclassify(x) == FP_SUBNORMAL ? BFloat16{} : scalar::convert<BFloat16>(x);
    }
}

void scale_plain(int64_t n, float* y, const float* factor) {
  for (int64_t i = 0; i < n * kAmxPanel; ++i)
    y[i] *= factor[i % kAmxPanel];
}

void join_plain(int64_t n, float* y, const float* part, const float* first, const float* second) {
  for (int64_t i = 0; i < n * kAmxPanel; ++i)
    y[i] = scalar::apply<scalar::Op::Fma>(part[i], second[i % kAmxPanel], y[i] * first[i % kAmxPanel]);
}

constexpr AttentionTiles kPlainTiles{multiply_plain, pack_plain<right_offset, true>, pack_plain<left_offset, false>,
                                     scale_plain, join_plain};

}  // namespace

const AttentionTiles& attention_tiles() {
#if defined(__x86_64__)
  if (runtime::host_target().amx) return kAmxTiles;
#endif
  return kPlainTiles;
}

}  // namespace sheaf::kernels

#include "kernels/quantized/byte_tiles.h"

#include "kernels/quantized/byte_tiles_plain.h"
#if defined(__x86_64__)
#include "kernels/quantized/byte_tiles_avx.h"
#include "runtime/target.h"
#endif

namespace sheaf::kernels {
namespace {

// Software-pipelined: the matrix unit multiplies one group while the sums of the previous one are accumulated.
template <auto kMultiply, auto kAdd>
void add_groups(const GroupRun& run, const ByteLayout& g) {
  alignas(64) int32_t sums[2][4 * kByteTileSums];
  auto add = [&](int64_t q) {
    kAdd({sums[q % 2], run.steps + q * g.panel_rows(), run.scales + q * run.scales_apart, run.columns, run.totals}, g);
  };
  for (int64_t q = 0; q < run.count; ++q) {
    kMultiply(sums[q % 2], run.x + q * g.panel_bytes(), run.weights + q * g.panel_bytes(), g);
    if (q > 0) add(q - 1);
  }
  if (run.count > 0) add(run.count - 1);
}

}  // namespace

const ByteTileKernels& plain_byte_tile_kernels() {
  static constexpr ByteTileKernels kPlain{plain::pack_x, plain::pack_weights, add_groups<plain::multiply, plain::add>};
  return kPlain;
}

const ByteTileKernels& byte_tile_kernels() {
#if defined(__x86_64__)
  static constexpr ByteTileKernels kUnit{avx::pack_x<avx::XBytes::Signed>, avx::pack_weights,
                                         add_groups<avx::multiply, avx::add>},
      kVectors{avx::pack_x<avx::XBytes::Shifted>, avx::pack_weights, avx::add_groups};
  if (runtime::host_target().amx_int8) return kUnit;
  if (runtime::host_target().vnni) return kVectors;
#endif
  return plain_byte_tile_kernels();
}

}  // namespace sheaf::kernels

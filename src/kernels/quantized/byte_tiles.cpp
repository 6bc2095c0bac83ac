#include "kernels/quantized/byte_tiles.h"

#include "kernels/quantized/byte_tiles_plain.h"
#if defined(__x86_64__)
#include "kernels/quantized/byte_tiles_avx.h"
#include "runtime/target.h"
#endif

namespace sheaf::kernels {

const ByteTileKernels& plain_byte_tile_kernels() {
  static constexpr ByteTileKernels kPlain{plain::pack_x, plain::pack_weights, plain::multiply, plain::add};
  return kPlain;
}

const ByteTileKernels& byte_tile_kernels() {
#if defined(__x86_64__)
  static const bool has_vectors = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  static const ByteTileKernels kVectors{avx::pack_x, avx::pack_weights,
                                        runtime::host_target().amx_int8 ? avx::multiply : plain::multiply, avx::add};
  if (has_vectors) return kVectors;
#endif
  return plain_byte_tile_kernels();
}

}  // namespace sheaf::kernels

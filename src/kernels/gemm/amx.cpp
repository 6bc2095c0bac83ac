#include "kernels/gemm/amx.h"

#include "kernels/gemm/amx_emulated.h"
#include "runtime/target.h"
#if defined(__x86_64__)
#include "kernels/gemm/amx_tiles.h"
#endif

namespace sheaf::kernels {

const AmxKernels& amx_kernels() {
#if defined(__x86_64__)
  if (runtime::host_target().amx) return kAmxKernels;
#endif
  return kEmulatedAmxKernels;
}

}  // namespace sheaf::kernels

#include "kernels/gemm/bf16_dot.h"

#include "support/error.h"
#if defined(__aarch64__)
#include "kernels/gemm/bf16_dot_neon.h"
#elif defined(__x86_64__)
#include "kernels/gemm/bf16_dot_avx.h"
#endif

namespace sheaf::kernels {

const Bf16DotKernels& bf16_dot_kernels() {
#if defined(__aarch64__) || defined(__x86_64__)
  return kBf16DotKernels;
#else
  INVARIANT(false, "no instructions for products of bf16");
#endif
}

}  // namespace sheaf::kernels

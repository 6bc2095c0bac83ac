#include "codegen/block/gemm_pairs.h"

#include "support/error.h"
#if defined(__aarch64__)
#include "codegen/block/gemm_pairs_neon.h"
#elif defined(__x86_64__)
#include "codegen/block/gemm_pairs_avx.h"
#endif

namespace sheaf::codegen::block {

const PairKernels& pair_kernels() {
#if defined(__aarch64__) || defined(__x86_64__)
  return kPairKernels;
#else
  INVARIANT(false, "no instructions for products of bf16");
#endif
}

}  // namespace sheaf::codegen::block

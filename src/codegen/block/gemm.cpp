#include "codegen/block/gemm.h"

#include <algorithm>

#include "codegen/block/machine.h"
#include "codegen/block/simd.h"

namespace sheaf::codegen::block {
namespace {

template <class T>
using Kernels = GemmKernels<T>;
#define SHEAF_KERNELS "codegen/block/gemm_kernels.h"
#include "codegen/block/instruction_sets.h"

}  // namespace

template <class T>
const GemmKernels<T>& gemm_kernels() {
  return kernels<T>();
}

template const GemmKernels<float>& gemm_kernels();
template const GemmKernels<double>& gemm_kernels();

}  // namespace sheaf::codegen::block

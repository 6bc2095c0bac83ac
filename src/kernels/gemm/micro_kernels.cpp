#include "kernels/gemm/micro_kernels.h"

#include <algorithm>

#include "kernels/simd/simd.h"
#include "runtime/target.h"

namespace sheaf::kernels {
namespace {

template <class T>
using Kernels = GemmKernels<T>;
#define SHEAF_KERNELS "kernels/gemm/micro_kernels_code.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

template <class T>
const GemmKernels<T>& gemm_kernels() {
  return kernels<T>();
}

template const GemmKernels<float>& gemm_kernels();
template const GemmKernels<double>& gemm_kernels();

}  // namespace sheaf::kernels

#include "kernels/attention/parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/simd/simd.h"
#include "kernels/simd/vector_builder.h"

namespace sheaf::kernels {
namespace {

template <class T>
using Kernels = AttentionKernels<T>;
#define SHEAF_KERNELS "kernels/attention/tile_code.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

template <class T>
const AttentionKernels<T>& attention_kernels() {
  return kernels<T>();
}

template const AttentionKernels<float>& attention_kernels();
template const AttentionKernels<double>& attention_kernels();

}  // namespace sheaf::kernels

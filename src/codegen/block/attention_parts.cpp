#include "codegen/block/attention_parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "codegen/block/simd.h"
#include "codegen/block/vector_builder.h"

namespace sheaf::codegen::block {
namespace {

template <class T>
using Kernels = AttentionKernels<T>;
#define SHEAF_KERNELS "codegen/block/attention_kernels.h"
#include "codegen/block/instruction_sets.h"

}  // namespace

template <class T>
const AttentionKernels<T>& attention_kernels() {
  return kernels<T>();
}

template const AttentionKernels<float>& attention_kernels();
template const AttentionKernels<double>& attention_kernels();

}  // namespace sheaf::codegen::block

// bf16 GEMV with dot-product instructions, which multiply without widening. Has the bits of scalar/bf16_dot.h; requires
// Target::bf16_dot.
#pragma once
#include <cstdint>

#include "kernels/gemm/packing.h"

namespace sheaf::kernels {

// C[1, N] = A[1, K] B[K, N], for any strides of B; fastest if its columns or its rows are contiguous.
void gemv_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t n, int64_t k);

}  // namespace sheaf::kernels

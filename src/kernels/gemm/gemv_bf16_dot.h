// One row of bf16 by a matrix, by instructions that multiply pairs without widening them: where
// scalar::bf16_in_pairs(), whose bits these are.
#pragma once
#include <cstdint>

#include "kernels/gemm/packing.h"

namespace sheaf::kernels {

// C[1, N] = A[1, K] B[K, N], B in any order; fastest where its columns or its rows are contiguous.
void gemv_bf16_dot(const Operand<BFloat16>& a, const Operand<BFloat16>& b, float* c, int64_t n, int64_t k);

}  // namespace sheaf::kernels

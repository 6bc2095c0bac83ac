// Products of few rows with a large matrix, at the speed at which memory gives that matrix: it is read once, where it is, and narrow
// elements are widened on their way. C[M,N] = A[M,K] B[K,N] with the bits of loop/library.cpp's definition.
#pragma once
#include <cstdint>

#include "codegen/block/packing.h"

namespace sheaf::codegen::block {

// Rows of B are contiguous (b.minor == 1). T is float for the narrow floats, else S.
template <class T, class S>
void thin_stream(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k);

// Columns of B are contiguous (b.k == 1). False where there is no such kernel for this machine.
template <class S>
bool thin_transposed(const Operand<S>& a, const Operand<S>& b, float* c, int64_t m, int64_t n, int64_t k);

}  // namespace sheaf::codegen::block

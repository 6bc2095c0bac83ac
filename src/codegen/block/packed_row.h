// One row by a matrix of bf16 that was copied into panels before: some columns for all k, so that a thread reads its part of memory in one go while the sums stay in
// registers. C[1, N] = A[1, K] B[K, N] with the bits of loop/library.cpp's definition.
#pragma once
#include <cstdint>

#include "codegen/block/packing.h"

namespace sheaf::codegen::block {

// Elements that the panels of a [k, n] take: columns are filled up to whole panels.
int64_t packed_row_elements(int64_t n, int64_t k);
void pack_for_row(const Operand<BFloat16>& b, int64_t n, int64_t k, BFloat16* panels);
// The row is contiguous.
void packed_row(const BFloat16* a, const BFloat16* panels, BFloat16* c, int64_t n, int64_t k);

}  // namespace sheaf::codegen::block

// One row by a matrix that was copied into panels before: some columns for all k, so that memory is read in one go, or as several streams, while sums stay in
// registers. C[1, N] = A[1, K] B[K, N] with the bits of loop/library.cpp's definition. For float and BFloat16.
#pragma once
#include <cstdint>

#include "codegen/block/packing.h"

namespace sheaf::codegen::block {

// Elements that the panels of a [k, n] take: columns are filled up to whole panels.
template <class S>
int64_t packed_row_elements(int64_t n, int64_t k);
template <class S>
void pack_for_row(const Operand<S>& b, int64_t n, int64_t k, S* panels);
// The row is contiguous.
template <class S>
void packed_row(const S* a, const S* panels, S* c, int64_t n, int64_t k);

// A row as it is in memory, and widened.
template <class S>
struct StoredRow {
  const S* stored;
  const float* wide;
};
// How panels of so many columns are read: out[s] = x by the panel at b + s * apart, for as many streams.
template <class S>
struct RowPanels {
  int64_t streams, width;
  void (*multiply)(const StoredRow<S>& x, const S* b, int64_t apart, int64_t k, float* out, int64_t out_apart);
};
// Those by instructions that multiply elements of bf16, where loop::has_bf16_instructions(). They have the bits of widening first.
const RowPanels<BFloat16>& bf16_row_panels();

}  // namespace sheaf::codegen::block

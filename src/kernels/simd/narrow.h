// Vectorized conversions: f32 results to the narrow floats in memory, and back where a compiler does not vectorize the
// loop.
#pragma once
#include <cstdint>

#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

void narrow(scalar::BFloat16* to, const float* from, int64_t n);
void narrow(scalar::Float16* to, const float* from, int64_t n);
// to[r][i] = from[r][i] for r < rows and i < n; `from_row`, `to_row`: row strides in elements.
void widen_rows(int64_t rows, int64_t n, const scalar::BFloat16* from, int64_t from_row, float* to, int64_t to_row);
void widen_rows(int64_t rows, int64_t n, const scalar::Float16* from, int64_t from_row, float* to, int64_t to_row);

}  // namespace sheaf::kernels

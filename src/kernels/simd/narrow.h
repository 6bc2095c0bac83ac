// Results that were computed wide, in the floats that memory holds, and back where a compiler would not do it in
// vectors.
#pragma once
#include <cstdint>

#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

void narrow(scalar::BFloat16* to, const float* from, int64_t n);
void narrow(scalar::Float16* to, const float* from, int64_t n);
// to[r][i] = from[r][i] for r < rows and i < n; rows begin so many elements apart.
void widen_rows(int64_t rows, int64_t n, const scalar::BFloat16* from, int64_t from_row, float* to, int64_t to_row);
void widen_rows(int64_t rows, int64_t n, const scalar::Float16* from, int64_t from_row, float* to, int64_t to_row);

}  // namespace sheaf::kernels

// Results that were computed wide, in the floats that memory holds, and back where a compiler would not do it in
// vectors.
#pragma once
#include <cstdint>

#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

void narrow(scalar::BFloat16* to, const float* from, int64_t n);
void narrow(scalar::Float16* to, const float* from, int64_t n);
void widen(float* to, const scalar::Float16* from, int64_t n);

}  // namespace sheaf::kernels

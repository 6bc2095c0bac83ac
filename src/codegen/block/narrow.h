// Results that were computed wide, in the floats that memory holds, and back where a compiler would not do it in
// vectors.
#pragma once
#include <cstdint>

#include "loop/scalar_ops.h"

namespace sheaf::codegen::block {

void narrow(loop::scalar::BFloat16* to, const float* from, int64_t n);
void narrow(loop::scalar::Float16* to, const float* from, int64_t n);
void widen(float* to, const loop::scalar::Float16* from, int64_t n);

}  // namespace sheaf::codegen::block

// Results that were computed wide, in the floats that memory holds.
#pragma once
#include <cstdint>

#include "loop/scalar_ops.h"

namespace sheaf::codegen::block {

void narrow(loop::scalar::BFloat16* to, const float* from, int64_t n);
void narrow(loop::scalar::Float16* to, const float* from, int64_t n);

}  // namespace sheaf::codegen::block

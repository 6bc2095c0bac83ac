// The product with quantized weights, fast (loop/quantized.h says what it computes).
#pragma once
#include "loop/library.h"

namespace sheaf::codegen::block {

void contract_quantized(const loop::CallArgs& call);

}  // namespace sheaf::codegen::block

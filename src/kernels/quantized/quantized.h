// The product with quantized weights, fast (routines/quantized/args.h says what it computes).
#pragma once
#include "routines/routine.h"

namespace sheaf::kernels {

void contract_quantized(const routines::CallArgs& call);

}  // namespace sheaf::kernels

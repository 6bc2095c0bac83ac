// The product with quantized weights, fast: the bits of routines/quantized/args.h.
#pragma once
#include "routines/quantized/args.h"

namespace sheaf::kernels {

void contract_quantized(const routines::RoutineCall& call, const routines::QuantizedArgs<>& args);

}  // namespace sheaf::kernels

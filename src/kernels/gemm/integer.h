// Integer matrix products: rows of B times elements of A. Sums wrap, so their order does not matter.
#pragma once
#include "routines/gemm/args.h"

namespace sheaf::kernels {

// Supports I8 (accumulated in I32), I32, U32, I64.
void contract_integers(const routines::RoutineCall& call, const routines::GemmArgs<>& args);

}  // namespace sheaf::kernels

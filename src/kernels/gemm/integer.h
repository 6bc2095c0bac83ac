// Products of integers: rows of B times elements of A. Sums wrap, so that their order does not matter.
#pragma once
#include "routines/gemm/args.h"

namespace sheaf::kernels {

// I8 (into I32), I32, U32, I64.
void contract_integers(const routines::RoutineCall& call, const routines::GemmArgs<>& args);

}  // namespace sheaf::kernels

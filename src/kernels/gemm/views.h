// Implicit GEMM: products of arrays that are no strided matrices, read in place, with the bits of the definition
// (routines/gemm/views.h). Any thread may call this.
#pragma once
#include "routines/gemm/views.h"

namespace sheaf::kernels {

void contract_views(const routines::RoutineCall& call, const routines::ContractViewsArgs<>& args);

}  // namespace sheaf::kernels

// Fast products of groups of rows, with the bits of routines/gemm/grouped.h.
#pragma once
#include "routines/gemm/grouped.h"

namespace sheaf::kernels {

void contract_groups(const routines::RoutineCall& call, const routines::GroupedArgs<>& args);

}  // namespace sheaf::kernels

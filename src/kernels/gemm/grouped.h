// Products of groups of rows, fast (routines/gemm/grouped.h says what they compute).
#pragma once
#include "routines/routine.h"

namespace sheaf::kernels {

void contract_groups(const routines::CallArgs& call);

}  // namespace sheaf::kernels

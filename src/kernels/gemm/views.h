// Products of arrays that no two strides express as matrices, read where they are (routines/gemm/views.h): the bits of
// that definition. Any thread may call this.
#pragma once
#include "routines/gemm/views.h"

namespace sheaf::kernels {

void contract_views(const routines::RoutineCall& call, const routines::ContractViewsArgs<>& args);

}  // namespace sheaf::kernels

// Sorting and running sums, rows shared out to threads; same results as the definitions (routines/sort/args.h).
#pragma once
#include "routines/routine.h"

namespace sheaf::kernels {

void sort(const routines::CallArgs& call);
void cumulate(const routines::CallArgs& call);

}  // namespace sheaf::kernels

// Sorting and running sums, rows shared out to threads; same results as the plain routines of loop/library.h.
#pragma once
#include "loop/library.h"

namespace sheaf::codegen::block {

void sort(const loop::CallArgs& call);
void cumulate(const loop::CallArgs& call);

}  // namespace sheaf::codegen::block

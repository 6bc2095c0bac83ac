// The fast forms of routines/attention/args.h.
#pragma once
#include "routines/routine.h"

namespace sheaf::kernels {

void attention(const routines::CallArgs& c);
void attention_vjp(const routines::CallArgs& c);

}  // namespace sheaf::kernels

// Fast attention and its gradient, with the bits of routines/attention/args.h.
#pragma once
#include "routines/attention/args.h"

namespace sheaf::kernels {

void attention(const routines::RoutineCall& call, const routines::AttentionArgs<>& args);
void attention_vjp(const routines::RoutineCall& call, const routines::AttentionVjpArgs<>& args);

}  // namespace sheaf::kernels

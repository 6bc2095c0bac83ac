// The fast forms of loop/attention.h.
#pragma once
#include "loop/library.h"

namespace sheaf::codegen::block {

void attention(const loop::CallArgs& c);
void attention_vjp(const loop::CallArgs& c);

}  // namespace sheaf::codegen::block

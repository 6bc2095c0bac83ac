// Products of matrices, fast (loop/library.h says what they compute).
#pragma once
#include "loop/library.h"

namespace sheaf::codegen::block {

void contract(const loop::CallArgs& call);

}  // namespace sheaf::codegen::block

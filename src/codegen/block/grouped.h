// Products of groups of rows, fast (loop/grouped.h says what they compute).
#pragma once
#include "loop/library.h"

namespace sheaf::codegen::block {

void contract_groups(const loop::CallArgs& call);

}  // namespace sheaf::codegen::block

// Marks the last use of every local, so that the value can be moved there.
#pragma once
#include "eval/core.h"

namespace sheaf::eval {

void mark_last_uses(Expr& body, int num_slots);

}  // namespace sheaf::eval

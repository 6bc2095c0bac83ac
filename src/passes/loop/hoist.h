// Values of a loop that are the same in all its turns stand in front of it: a division by a row's sum, say, or a load of
// its maximum. Compilers cannot move a load, which the loop's stores could change.
#pragma once
#include <span>

#include "loop/ir.h"

namespace sheaf::passes {

// Moves them out of loops that hold nothing but values and stores, and that have turns with these sizes. What is loaded
// from an array that the kernel writes stays. Values are unchanged.
loop::Kernel hoist_invariants(loop::Kernel k, std::span<const int64_t> sizes);

}  // namespace sheaf::passes

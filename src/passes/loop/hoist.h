// Hoists loop-invariant values out of loops: a division by a row's sum, say, or a load of its maximum. The compiler of
// the emitted text cannot hoist a load, because the loop's stores might alias it.
#pragma once
#include <span>

#include "loop/ir.h"

namespace sheaf::passes {

// Handles loops that hold only values and stores, and that run at least one iteration with these sizes. Loads from
// arrays that the kernel writes stay in the loop. Results are unchanged.
loop::Kernel hoist_invariants(loop::Kernel k, std::span<const int64_t> sizes);

}  // namespace sheaf::passes

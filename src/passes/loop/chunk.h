// Splits nests that the lowering left without a Parallel loop into chunks that threads share. CPU back ends run it on
// every kernel; a GPU maps the same nests to its threads in a way of its own.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// Expects: a kernel as the lowering makes it.
// Leaves: a Parallel loop around each top-level nest of Free loops and one Vector loop without reductions. A Serial
// loop inside that Vector loop is moved around it, so that what all elements share is computed once. The lengths of
// chunks are fixed numbers, so nothing depends on the number of threads. Same bits.
loop::Kernel chunk(const loop::Kernel& k);

}  // namespace sheaf::passes

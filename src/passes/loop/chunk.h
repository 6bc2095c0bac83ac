// Splits nests that the lowering left without a Parallel loop into chunks for threads. CPU back ends run it on every
// kernel; a GPU maps the same nests to its threads in its own way.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// Expects: a kernel as the lowering emits it.
// Leaves: a Parallel loop around each top-level nest of Free loops and one Vector loop without reductions. A Serial
// loop inside that Vector loop moves around it, so that values common to all elements are computed once. Chunk lengths
// are constants, so nothing depends on the number of threads. Same bits.
loop::Kernel chunk(const loop::Kernel& k);

}  // namespace sheaf::passes

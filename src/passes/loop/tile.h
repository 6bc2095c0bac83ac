// A nest that reads an operand across its vector axis (a transposed one) walks it in small squares: a line of memory is
// then used for all of the rows that want it while it is still near. Same bits.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// For kernels whose strides of 0 and 1 are known (passes/loop/specialize.h): every other one counts as across.
loop::Kernel tile_transposed(const loop::Kernel& k);

}  // namespace sheaf::passes

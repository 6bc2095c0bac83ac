// Tiles a nest that reads an operand across its vector axis (a transposed operand) into small squares, so that each
// cache line is used for all rows that need it before it is evicted. Same bits.
#pragma once
#include "loop/ir.h"

namespace sheaf::passes {

// Expects: strides of 0 and 1 are known (passes/loop/specialize.h); every other stride counts as across.
loop::Kernel tile_transposed(const loop::Kernel& k);

}  // namespace sheaf::passes

// How a reduction combines its elements: what the lowering of fused reductions needs to know of an entry.
#pragma once
#include "graph/op_def.h"
#include "loop/ir.h"

namespace sheaf::ops {

// Only for entries of the reduce family.
loop::Combine combine_of(const graph::OpDef& op);

}  // namespace sheaf::ops

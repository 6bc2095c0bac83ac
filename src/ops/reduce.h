// The combining operation of a reduction, for the lowering of fused reductions.
#pragma once
#include "graph/op_def.h"
#include "loop/ir.h"

namespace sheaf::ops {

// Only for entries of the reduce family.
loop::Combine combine_of(const graph::OpDef& op);

}  // namespace sheaf::ops

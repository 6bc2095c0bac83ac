// A kernel for one op, in which every size and stride is a run-time parameter, so that it serves all shapes of the same
// ranks. Its size parameters in order: the sizes, then the strides of each input; then the sizes of each output.
#pragma once
#include "graph/op_def.h"
#include "loop/ir.h"

namespace sheaf::lower {

struct ArrayKey {
  DType dtype;
  int rank;
};

// Elementwise ops take every input with the rank of the output (broadcast axes have stride 0). `in_place`: for an
// Update whose first input is already in the output's memory.
loop::Kernel lower_single(const graph::OpDef& op, const graph::Attrs& attrs, const std::vector<ArrayKey>& inputs,
                          const std::vector<ArrayKey>& outputs, bool in_place = false);

}  // namespace sheaf::lower

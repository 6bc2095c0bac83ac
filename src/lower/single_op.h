// A kernel for one op, with every size and stride a run-time parameter, so that it serves all shapes of the same rank.
// The order of its size parameters: for each input its sizes, then its strides; for each output its sizes.
#pragma once
#include "graph/op_def.h"
#include "loop/ir.h"

namespace sheaf::lower {

struct ArrayKey {
  DType dtype;
  int rank;
};

// Elementwise ops take every input with the rank of the output (stretched axes have stride 0). `in_place`: for an
// Update whose first input is already in the output's memory.
loop::Kernel lower_single(const graph::OpDef& op, const graph::Attrs& attrs, const std::vector<ArrayKey>& inputs,
                          const std::vector<ArrayKey>& outputs, bool in_place = false);

}  // namespace sheaf::lower

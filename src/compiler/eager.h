// Runs one op on concrete tensors now, through kernels that are compiled once per (op, attributes, dtypes, ranks).
#pragma once
#include "graph/op_def.h"

namespace sheaf::compiler {

// Throws UserError when a check inside the kernel fails.
std::vector<Tensor> run_op(const graph::OpDef& op, const std::vector<Tensor>& inputs, const graph::Attrs& attrs,
                           const std::vector<graph::TensorType>& out_types);

}  // namespace sheaf::compiler

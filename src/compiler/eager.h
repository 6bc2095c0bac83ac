// Runs one op on concrete tensors now, through kernels that are compiled once per (op, attributes, dtypes, ranks).
#pragma once
#include <span>

#include "graph/op_def.h"

namespace sheaf::compiler {

// Called after every op that ran, while current_span is its form; nullptr: no listener. Set it before programs run.
extern void (*g_op_listener)(std::span<const Tensor> inputs, std::span<const Tensor> outputs);

// Throws UserError when a check inside the kernel fails.
std::vector<Tensor> run_op(const graph::OpDef& op, const std::vector<Tensor>& inputs, const graph::Attrs& attrs,
                           const std::vector<graph::TensorType>& out_types);

// Copies elements between arrays of the program's device, which may differ in strides and dtype; `to` is contiguous.
void copy_elements(const Tensor& from, const Tensor& to);

}  // namespace sheaf::compiler

// Kernels of graphs: lowered once for each group that says the same, and shared by all that come out the same, so
// twelve equal layers, and the same layers at another size, cost one. Thread-safe.
#pragma once
#include <memory>

#include "lower/group.h"
#include "lower/single_op.h"
#include "runtime/kernel.h"

namespace sheaf::compiler {

struct LoweredKernel {
  std::shared_ptr<const runtime::Kernel> kernel;
  bool checks = false;  // may fail
};
LoweredKernel lowered_group(const lower::GroupSpec& spec);
LoweredKernel lowered_sum_of_totals(DType dtype);
LoweredKernel lowered_single(const graph::OpDef& op, const graph::Attrs& attrs,
                             const std::vector<lower::ArrayKey>& inputs, const std::vector<lower::ArrayKey>& outputs,
                             bool in_place);

}  // namespace sheaf::compiler

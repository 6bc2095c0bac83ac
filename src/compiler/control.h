// Kernels of control nodes and host calls: a nested executable, or a call back, as one launch.
#pragma once
#include "graph/node.h"
#include "runtime/executable.h"

namespace sheaf::compiler {

// Its buffers are the node's inputs (contiguous), its outputs and scratch memory, in this order.
struct NestedKernel {
  std::shared_ptr<const runtime::Kernel> kernel;
  int64_t scratch_bytes = 0;
};
NestedKernel nested_kernel(const graph::Node& n);

}  // namespace sheaf::compiler

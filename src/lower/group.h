// A kernel for a group of fused nodes. Sizes and strides are run-time parameters: first the collapsed space, then for each
// array (inputs, then outputs) its strides. The text of the kernel identifies it, so equal layers share one.
#pragma once
#include "graph/op_def.h"
#include "loop/ir.h"

namespace sheaf::lower {

// An operand of a member that comes from outside the group: input `array`, or (for scalars) a constant in the code.
struct GroupInput {
  int array = -1;
  Tensor constant;  // 0-d, when array < 0
};

struct GroupMember {
  const graph::OpDef* op;
  const graph::Attrs* attrs;
  DType dtype;                    // of its value
  std::vector<int> args;          // >= 0: an earlier member; < 0: GroupInput number -1 - arg
  int store = -1;                 // output array it is stored to
};

struct GroupSpec {
  std::vector<DType> inputs;      // arrays read
  std::vector<DType> outputs;     // arrays written
  std::vector<GroupInput> externals;
  std::vector<GroupMember> members;
  int rank = 0;                   // of the collapsed space
  // Reduction at the end: the last member reduces axis `reduce_axis` of the space; -1 for none.
  int reduce_axis = -1;
  loop::Combine combine = loop::Combine::Sum;
};

loop::Kernel lower_group(const GroupSpec& spec);

}  // namespace sheaf::lower

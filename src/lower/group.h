// A kernel for a group of fused nodes. Sizes and strides are run-time parameters: first the space, then the strides of
// each array (inputs, then outputs). The kernel's text identifies it, so equal layers share one kernel.
#pragma once
#include <optional>

#include "graph/op_def.h"
#include "loop/ir.h"

namespace sheaf::lower {

// An operand that a member reads from outside the group: input `array`, or (for scalars) a constant in the code.
struct GroupInput {
  int array = -1;
  bool row = false;         // constant along the last axis of the space: loaded once per row
  graph::Operand constant;  // a 0-d tensor, when array < 0
};

struct GroupMember {
  const graph::OpDef* op;
  const graph::Attrs* attrs;
  DType dtype;                           // of its value
  SmallVec<int, 4> args;                 // >= 0: an earlier member; < 0: element -1 - arg of `externals`
  int store = -1;                        // output array it is stored to
  bool row = false;                      // one value per row
  std::optional<loop::Combine> combine;  // a reduction of its one operand
  int kept_in = -1;                      // output array that holds its values between loops over the row (choose_kept)
};

struct GroupSpec {
  enum Shape : uint8_t { Map, Rows, Reduce } shape = Map;
  std::vector<DType> inputs;   // arrays read
  std::vector<DType> outputs;  // arrays written
  std::vector<GroupInput> externals;
  std::vector<GroupMember> members;
  int rank = 0;          // of the collapsed space; Rows: the last axis is the row
  int reduce_axis = -1;  // Reduce: the axis that the last member reduces, or the first of several adjacent ones
  int num_reduced = 1;   // Reduce: how many; one loop walks them all, so the index of each element takes a division
};

// Rows: stores values that are expensive to compute and that several loops over the row need in an output array of the
// same type, until that array's own values are written. Sets GroupMember::kept_in.
void choose_kept(GroupSpec& spec);

// A Map, or Rows whose arrays hold no intermediate values, may overwrite an input of the same layout with an output:
// each element is read before it is written.
loop::Kernel lower_group(const GroupSpec& spec);

// Sums the block totals of a reduction; the number of blocks is a run-time parameter.
loop::Kernel lower_sum_of_totals(DType dtype);

}  // namespace sheaf::lower

// Numbers that are sizes: what (shape x) gives, and what a program computes from it, stays expressions over symbols for
// as long as it is whole numbers, so that code traced for one size can be used for others.
#pragma once
#include <optional>

#include "graph/engine.h"
#include "value/value.h"

namespace sheaf::trace {

// The expressions that a scalar or a short vector stands for; nullptr when it is not made of sizes.
const Sizes* size_values(const graph::Node& n);
const Sizes* size_values(const graph::Operand& o);
// Their numbers in this call, which others must then have too.
Tensor known_numbers(const graph::Node& size_node);
// The one expression of a traced number or one-element vector.
std::optional<Size> size_value(const Value& v);

// The numbers of a short vector that is used as sizes and has sizes in some places: these stay expressions, the numbers
// in its other places (a number of heads that was given, say) must be the same in other calls. Nothing when there are
// none, or a place is data.
std::optional<Sizes> mixed_extents(const graph::Operand& o);

// Sizes as a tensor of numbers: data when all are known, else a node.
graph::Operand sizes_operand(Sizes values, DType dtype, bool scalar);

// The result of an op on sizes and whole numbers as sizes, or, of a comparison, as the truth that it has in this call;
// nothing when it is neither.
std::optional<graph::Operand> apply_to_sizes(const graph::OpDef& op, const std::vector<graph::Operand>& inputs,
                                             const graph::Attrs& attrs, const graph::TensorType& out);

}  // namespace sheaf::trace

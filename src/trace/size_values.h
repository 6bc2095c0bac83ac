// Numbers that are sizes: the elements of (shape x), and values computed from them, stay expressions over symbols as
// long as they are whole numbers, so that code traced for one size can serve others.
#pragma once
#include <optional>

#include "graph/engine.h"
#include "value/value.h"

namespace sheaf::trace {

// The expressions behind a scalar or a short vector; nullptr if it is not made of sizes.
const Sizes* size_values(const graph::Node& n);
const Sizes* size_values(const graph::Operand& o);
// Their values in this call; other calls must then have the same.
Tensor known_numbers(const graph::Node& size_node);
// The one expression of a traced number or one-element vector.
std::optional<Size> size_value(const Value& v);

// The elements of a short vector that is used as sizes and has sizes in some positions. These stay expressions; the
// numbers in other positions (a given number of heads, say) must be the same in other calls. Returns nothing if no
// position is a size, or one is data.
std::optional<Sizes> mixed_extents(const graph::Operand& o);

// Sizes as a tensor of numbers: a constant if all are known, else a node.
graph::Operand sizes_operand(Sizes values, DType dtype, bool scalar);

// The result of an op on sizes and whole numbers, as sizes, or, for a comparison, as its truth in this call; nothing if
// it is neither.
std::optional<graph::Operand> apply_to_sizes(const graph::OpDef& op, const std::vector<graph::Operand>& inputs,
                                             const graph::Attrs& attrs, const graph::TensorType& out);

}  // namespace sheaf::trace

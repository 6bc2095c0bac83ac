// How the prompt displays results.
#pragma once
#include <optional>
#include <string>

#include "value/value.h"

namespace sheaf::tools {

// "=> 42", "=> tensor f32[2] = [1. 2.]", continuation lines indented.
std::string echo_text(const Value& v);
// For a value with many tensors: its structure, with the shape instead of the contents of every leaf. Equal neighbours
// in a list share a line. Reads no elements, so tensors may be large. Returns nothing for other values.
std::optional<std::string> shape_tree_text(const Value& v);
// ":type": "int", "tensor f32[2x3]", "list of 3", "function of (x, p)" …
std::string type_text(const Value& v);

}  // namespace sheaf::tools

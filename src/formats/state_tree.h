// Flattens trees to named arrays and a JSON text that describes where each belongs. Private to the safetensors format.
#pragma once
#include <map>
#include <string>

#include "value/value.h"

namespace sheaf::formats {

struct StateTree {
  std::map<std::string, Tensor> arrays;  // in the order of the names
  std::string structure;                 // empty if the names alone determine the tree
};

// Throws UserError for values that cannot be stored (functions, atoms …).
StateTree split_state(const Value& v);
Value join_state(std::string_view structure, const std::map<std::string, Value>& arrays);

}  // namespace sheaf::formats

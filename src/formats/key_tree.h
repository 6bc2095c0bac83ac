// Converts the flat dotted keys of checkpoint files to nested dicts and lists.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::formats {

struct KeyedTensor {
  std::string key;
  Value value;
};

// "a.b" becomes nested dicts; a level whose keys are exactly 0…n-1 becomes a list. If "a" is itself an entry, "a.b"
// stays one key next to it.
Value tree_from_keys(std::vector<KeyedTensor> entries);

}  // namespace sheaf::formats

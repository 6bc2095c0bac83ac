// Nested dicts and lists as a flat sequence of dotted keys, the way checkpoint files hold them.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::formats {

struct KeyedTensor {
  std::string key;
  Value value;
};

// "a.b" makes dicts within dicts; a level whose keys are exactly 0…n-1 becomes a list. Where "a" is itself an entry,
// "a.b" stays one key next to it.
Value tree_from_keys(std::vector<KeyedTensor> entries);

}  // namespace sheaf::formats

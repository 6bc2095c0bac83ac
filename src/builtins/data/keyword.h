// Keywords as functions: (:key dict) and (:key dict default). Any thread.
#pragma once
#include <span>

#include "value/value.h"

namespace sheaf::builtins {

// The entry of a dict under `key`. An absent one is the default (the second argument) or nil, as for `get`; what is not
// a dict, nil included, is an error. The arguments stay as they are.
Value read_key(Name key, std::span<const Value> args);

}  // namespace sheaf::builtins

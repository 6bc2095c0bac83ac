// Keywords as functions: (:key dict) and (:key dict default). Any thread.
#pragma once
#include <span>

#include "value/value.h"

namespace sheaf::builtins {

// The entry of a dict under `key`. If it is absent: the default (the second argument) or nil, as for `get`. Anything
// but a dict, nil included, is an error. Does not change the arguments.
Value read_key(Name key, std::span<const Value> args);

}  // namespace sheaf::builtins

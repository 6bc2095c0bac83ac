// What the library's `attention` is made of, in one op (ops/attention.cpp).
#pragma once
#include "builtins/core/builtin.h"

namespace sheaf::builtins {

// (%attention q k v causal window mask scale offset); nil where an option is not given, the mask a tensor or a scalar.
Value attend(Call& c);

}  // namespace sheaf::builtins

// The primitive behind the library's `attention`, as one op (ops/attention.cpp).
#pragma once
#include "builtins/core/builtin.h"

namespace sheaf::builtins {

// (%attention q k v causal window mask scale offset); nil for an option that is not given, the mask a tensor or a
// scalar.
Value attend(Call& c);

}  // namespace sheaf::builtins

// Structural equality: `=` of the language, and the stricter `equal?` on whole trees.
#pragma once
#include "value/value.h"

namespace sheaf {

// `=` (builtins specification §4). Throws UserError for a dict, tuple or function operand.
bool language_equal(const Value& a, const Value& b);
// `equal?`: same types and contents all the way down; NaN equals NaN, tensors by dtype, shape and bits of value.
bool tree_equal(const Value& a, const Value& b);
// Truthiness: false, nil, 0, 0.0 and a 0-d tensor holding zero are false.
bool truthy(const Value& v);

}  // namespace sheaf

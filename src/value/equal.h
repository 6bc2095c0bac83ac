// Structural equality: `=` of the language, and the stricter `equal?` on whole trees.
#pragma once
#include "value/value.h"

namespace sheaf {

// `=` (builtins specification §4). Throws UserError for a dict, tuple or function operand.
bool language_equal(const Value& a, const Value& b);
// `equal?`: types and contents are equal at every depth; NaN equals NaN, tensors compare by dtype, shape and value
// bits.
bool tree_equal(const Value& a, const Value& b);
// Truthiness: false, nil, 0, 0.0 and a 0-d tensor holding zero are false.
bool truthy(const Value& v);

}  // namespace sheaf

// Arithmetic and comparison of two values of the language. The evaluator's instructions call these unless both values
// are plain scalars. Defined in arithmetic.cpp and compare.cpp.
#pragma once
#include "builtins/core/numeric.h"

namespace sheaf::builtins {

// `+ - * / // mod` of two values, with the exact integer paths.
Value add_values(const Value& a, const Value& b);
Value sub_values(const Value& a, const Value& b);
Value mul_values(const Value& a, const Value& b);
Value div_values(const Value& a, const Value& b);
Value floor_div_values(const Value& a, const Value& b);
Value mod_values(const Value& a, const Value& b);
Value neg_value(const Value& a);
enum class Cmp : uint8_t { Lt, Le, Gt, Ge };
Value compare_values(Cmp op, const Value& a, const Value& b);
Value near_values(const Value& a, const Value& b);  // ==

}  // namespace sheaf::builtins

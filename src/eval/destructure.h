// Destructuring of values: vector patterns and with-params fields.
#pragma once
#include <span>

#include "support/source.h"
#include "value/value.h"

namespace sheaf::eval {

// Unpacks a list, tuple or rank-1 tensor into `out`; drops extra elements, or collects them into a list in `rest`.
void destructure(const Value& v, std::span<Value> out, Value* rest);

// Field `key` of the innermost with-params dict that has it; the first of `dicts` is the innermost and must be a dict.
// If all lack it: the value of the global of that name if there is one (null: none), else nil (an error in strict
// sources).
Value param_field(std::span<const Value> dicts, Name key, const Value* global, Span span);

}  // namespace sheaf::eval

// Taking values apart: vector patterns and with-params fields.
#pragma once
#include <span>

#include "support/source.h"
#include "value/value.h"

namespace sheaf::eval {

// Spreads a list, tuple or rank-1 tensor over `out`; extra elements are dropped, or collected into a list in `rest`.
void destructure(const Value& v, std::span<Value> out, Value* rest);

// Field `key` of a with-params dict. When it is missing: `fallback` if there is one (a function of that name), else nil
// (an error in strict sources).
Value param_field(const Value& dict, Name key, const Value& fallback, Span span);

}  // namespace sheaf::eval

// What the arguments of a failing call were: the report shows each as it is written, with its type.
#pragma once
#include <span>
#include <string_view>

#include "support/error.h"
#include "value/value.h"

namespace sheaf::eval {

// Adds the note "where q is f32[16x8], k is f32[16x8]" for the arguments of `function` in the form at `call` that are
// not literals. A function whose own form has no place of its own (get) is "given" them.
void note_arguments(UserError& e, std::string_view function, Span call, std::span<const Value> arguments);

}  // namespace sheaf::eval

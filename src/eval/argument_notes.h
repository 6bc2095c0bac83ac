// Describes the arguments of a failing call for its report: each as written, with its type.
#pragma once
#include <span>
#include <string_view>

#include "support/error.h"
#include "value/value.h"

namespace sheaf::eval {

// Adds the note "where q is f32[16x8], k is f32[16x8]" for the arguments of `function` in the form at `call` that are
// not literals. If the function's own form has no position (get), the note says "given".
void note_arguments(UserError& e, std::string_view function, Span call, std::span<const Value> arguments);

}  // namespace sheaf::eval

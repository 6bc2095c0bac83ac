// Warnings about legal but suspicious programs: stderr, once per place, with the position. `(use strict)` turns them
// into errors for the file that says it.
#pragma once
#include <string>

#include "builtins/core/builtin.h"

namespace sheaf::builtins {

// Reports at the current form (trace::current_span).
void warn(const std::string& message);
// Reports an error that does not end the program yet, with its hints, at its place. Under `(use strict)` it is thrown.
void warn_of(const UserError& e);
// A tensor of rank 1 or more was asked for its truth.
void warn_always_true();
// `mean ignores argument 2; did you mean :axis 1?`
void warn_ignored_argument(const BuiltinDef& def, int index, const Value& argument);
std::string ignored_argument(const BuiltinDef& def, int index);
// From now on warnings in this source are errors.
void make_strict(uint32_t source);
bool is_strict(uint32_t source);

}  // namespace sheaf::builtins

// Warnings about legal but suspicious programs: on stderr, once per position. `(use strict)` turns them into errors in
// its file.
#pragma once
#include <string>

#include "builtins/core/builtin.h"

namespace sheaf::builtins {

// Reports at the current form (trace::current_span).
void warn(const std::string& message);
// Reports an error that does not yet end the program, with its hints and position. Under `(use strict)` throws it.
void warn_of(const UserError& e);
// Warns that the truth of a tensor of rank 1 or more was tested.
void warn_always_true();
// `mean ignores argument 2; did you mean :axis 1?`
void warn_ignored_argument(const BuiltinDef& def, int index, const Value& argument);
std::string ignored_argument(const BuiltinDef& def, int index);
// Turns warnings in this source into errors from now on.
void make_strict(uint32_t source);
bool is_strict(uint32_t source);

}  // namespace sheaf::builtins

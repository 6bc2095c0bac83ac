// Guesses the intended name or option behind an undefined one.
#pragma once
#include "eval/globals.h"
#include "support/error.h"

namespace sheaf::eval {

// Adds a hint to an error about an unknown name or option, unless it already has one or no guess is likely.
void suggest_name(UserError& e, const Globals& globals);

}  // namespace sheaf::eval

// What a name or option that nobody defined was probably meant to be.
#pragma once
#include "eval/globals.h"
#include "support/error.h"

namespace sheaf::eval {

// Adds a hint to an error about an unknown name or option, unless it has one or none is likely.
void suggest_name(UserError& e, const Globals& globals);

}  // namespace sheaf::eval

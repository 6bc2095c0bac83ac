// Calls with a format string that is written out: what is wrong with them can be said before they run.
#pragma once
#include <optional>
#include <string>

#include "syntax/form.h"

namespace sheaf::eval {

// For a call of print, println or (str-call "format" …): values that the format has no field for, or a format that
// does not come first. Nothing for any other call.
std::optional<std::string> fault_of_format(const syntax::Form& call);

}  // namespace sheaf::eval

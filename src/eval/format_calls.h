// Calls with a literal format string: finds their errors before they run.
#pragma once
#include <optional>
#include <string>

#include "syntax/form.h"

namespace sheaf::eval {

// For a call of print, println or (str-call "format" …): describes values without a field in the format, or a format
// that is not the first argument. Returns nothing for any other call.
std::optional<std::string> fault_of_format(const syntax::Form& call);

}  // namespace sheaf::eval

// Forms back to text.
#pragma once
#include <string>

#include "syntax/form.h"

namespace sheaf::syntax {

// One line, as it could be read back.
std::string to_text(const Form& form);

// The layout of `:show` (toolchain specification §2): flat if it fits in `width` columns, else broken by the rules
// there.
std::string pretty(const Form& form, int width = 90);

}  // namespace sheaf::syntax

// Prints forms.
#pragma once
#include <string>

#include "syntax/form.h"

namespace sheaf::syntax {

// On one line, in readable syntax.
std::string to_text(const Form& form);

// The layout of `:show` (toolchain specification §2): on one line if that fits in `width` columns, else broken by the
// rules there.
std::string pretty(const Form& form, int width = 90);

}  // namespace sheaf::syntax

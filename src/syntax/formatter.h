// `sheaf fmt`: re-indents a whole text and breaks lines that are too long. Keeps comments, line breaks and blank lines
// (at most one in a row), never changes the forms, and is idempotent.
#pragma once
#include <string>
#include <string_view>

namespace sheaf::syntax {

// Throws UserError on text that does not read.
std::string format_source(std::string_view text, int width = 120);

}  // namespace sheaf::syntax

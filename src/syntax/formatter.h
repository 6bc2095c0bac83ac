// `sheaf fmt`: re-indents a text and breaks overlong lines. Keeps comments, line breaks and blank lines (at most one in
// a row), never changes the forms, and is idempotent.
#pragma once
#include <string>
#include <string_view>

namespace sheaf::syntax {

// Throws UserError on text that cannot be read.
std::string format_source(std::string_view text, int width = 120);

}  // namespace sheaf::syntax

// Long texts of the prompt, a screen at a time.
#pragma once
#include <string>

namespace sheaf::tools {

// Writes a text to standard output. On a terminal, lines are wrapped, and what does not fit the screen is shown by
// $PAGER or, without one, page by page: Space for the next page, Enter for a line, q to leave.
void show_paged(const std::string& text);

}  // namespace sheaf::tools

// Shows long texts at the prompt, one screen at a time.
#pragma once
#include <string>

namespace sheaf::tools {

// Writes a text to standard output. On a terminal, wraps lines and shows text that exceeds the screen through $PAGER
// or, without one, page by page: Space for the next page, Enter for a line, q to quit.
void show_paged(const std::string& text);

}  // namespace sheaf::tools

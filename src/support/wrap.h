// Word-wraps prose for a terminal. A pipe gets whole lines, so that grep finds them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf {

// Breaks lines longer than `columns` between words; continuation lines are indented `hanging` deeper than their first
// line. A word longer than a line is left to the terminal: paths stay whole. Ends with a newline unless the text is
// empty.
std::string wrapped(std::string_view text, int64_t columns, int64_t hanging = 0);

}  // namespace sheaf

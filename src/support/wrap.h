// Prose for a terminal: long lines broken between words. A pipe gets its lines whole, so that grep finds them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf {

// Lines longer than `columns` broken between words; what continues a line is indented `hanging` deeper than the line.
// A word longer than a line is the terminal's to break: paths stay whole. Ends with a newline unless the text is empty.
std::string wrapped(std::string_view text, int64_t columns, int64_t hanging = 0);

}  // namespace sheaf

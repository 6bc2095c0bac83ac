// Facts about the terminal behind a file descriptor, queried at each call because windows change their size.
#pragma once
#include <string>
#include <string_view>

namespace sheaf {

// Returns 0 without a terminal, or if it does not tell.
int terminal_columns(int fd);
int terminal_rows(int fd);
// True for a terminal that is not dumb, unless NO_COLOR has a value (https://no-color.org).
bool shows_colour(int fd);
// `colour` is the escape sequence. It excludes newlines: some terminals would colour the next line.
std::string painted(std::string_view colour, std::string_view text);

}  // namespace sheaf

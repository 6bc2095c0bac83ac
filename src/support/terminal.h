// Facts about the terminal behind a file descriptor, asked anew at each call: windows change their size.
#pragma once
#include <string>
#include <string_view>

namespace sheaf {

// 0: no terminal, or one that does not say.
int terminal_columns(int fd);
int terminal_rows(int fd);
// A terminal that is not dumb, unless NO_COLOR has a value (https://no-color.org).
bool shows_colour(int fd);
// `colour` is the escape sequence. Newlines stay outside it: some terminals paint the next line otherwise.
std::string painted(std::string_view colour, std::string_view text);

}  // namespace sheaf

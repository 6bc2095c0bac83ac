#include "support/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace sheaf {

int terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int terminal_rows(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool shows_colour(int fd) {
  const char *term = std::getenv("TERM"), *refused = std::getenv("NO_COLOR");
  return isatty(fd) == 1 && !(term && std::string_view(term) == "dumb") && !(refused && *refused);
}

std::string painted(std::string_view colour, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out.append(colour).append(text.substr(0, end)).append("\033[0m");
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace sheaf

#include "tools/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "builtins/host/output.h"
#include "support/error.h"

namespace sheaf::tools {

bool is_terminal(int fd) { return isatty(fd) == 1; }

int terminal_width() { return builtins::terminal_width(); }

namespace {

// https://no-color.org: any value but an empty one.
bool is_coloured() {
  static const bool coloured = [] {
    const char *term = std::getenv("TERM"), *refused = std::getenv("NO_COLOR");
    return is_terminal(STDERR_FILENO) && !(term && std::string_view(term) == "dumb") && !(refused && *refused);
  }();
  return coloured;
}

}  // namespace

advice::Look error_look() {
  advice::Look look{.colour = is_coloured()};
  winsize size{};
  const char* columns = std::getenv("COLUMNS");
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    look.width = size.ws_col;
  else if (int n = columns ? std::atoi(columns) : 0; n > 0)
    look.width = n;
  return look;
}

void say_report(const UserError& e) { say_plain(advice::report(e, error_look())); }

void say_plain(std::string_view text) {
  try {
    builtins::flush_out();
  } catch (const UserError&) {  // standard output is gone; standard error may still be read
  }
  std::string out(text);
  if (!out.ends_with('\n')) out += '\n';
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
}

void say(std::string_view text) {
  if (!is_coloured()) return say_plain(text);
  // Newlines stay outside the colour: some terminals paint the next line otherwise.
  size_t end = text.find_last_not_of('\n');
  std::string_view body = end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
  say_plain("\033[35m" + std::string(body) + "\033[0m" + std::string(text.substr(body.size())));
}

}  // namespace sheaf::tools

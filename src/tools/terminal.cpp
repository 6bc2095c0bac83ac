#include "tools/terminal.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "builtins/host/output.h"
#include "support/display_width.h"
#include "support/error.h"
#include "support/terminal.h"

namespace sheaf::tools {

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool is_capable_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return is_terminal(fd) && term && std::strcmp(term, "dumb") != 0;
}

int terminal_width() { return builtins::terminal_width(); }

advice::Look error_look() {
  advice::Look look{.terminal = is_terminal(STDERR_FILENO), .colour = shows_colour(STDERR_FILENO)};
  const char* columns = std::getenv("COLUMNS");
  if (int n = terminal_columns(STDERR_FILENO); n > 0)
    look.width = n;
  else if (int n = columns ? std::atoi(columns) : 0; n > 0)
    look.width = n;
  return look;
}

void say_report(const UserError& e) { say_plain(advice::report(e, error_look())); }

int terminal_height() {
  for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (int n = terminal_rows(fd); n > 0) return n;
  }
  return 24;
}

std::string cut_to(std::string text, int columns) {
  if (display_width(text) <= columns) return text;
  while (!text.empty() && display_width(text) >= columns) {
    while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80)
      text.pop_back();
    text.pop_back();
  }
  return text + "…";
}

RawMode::RawMode(int fd) : fd_(fd) {
  if (tcgetattr(fd_, &saved_) != 0) return;
  termios raw = saved_;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  active_ = tcsetattr(fd_, TCSADRAIN, &raw) == 0;
}

RawMode::~RawMode() {
  if (active_) tcsetattr(fd_, TCSADRAIN, &saved_);
}

void say_plain(std::string_view text) {
  try {
    builtins::flush_out();
  } catch (const UserError&) {  // standard output is closed; standard error may still be read
  }
  std::string out(text);
  if (!out.ends_with('\n')) out += '\n';
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
}

void say(std::string_view text) {
  say_plain(shows_colour(STDERR_FILENO) ? painted("\033[35m", text) : std::string(text));
}

}  // namespace sheaf::tools

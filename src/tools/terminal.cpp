#include "tools/terminal.h"

#include <unistd.h>

#include <cstdio>

#include "builtins/host/output.h"
#include "support/error.h"

namespace sheaf::tools {

bool is_terminal(int fd) { return isatty(fd) == 1; }

int terminal_width() { return builtins::terminal_width(); }

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
  static const bool colour = is_terminal(STDERR_FILENO);
  if (!colour) return say_plain(text);
  // Newlines stay outside the colour: some terminals paint the next line otherwise.
  size_t end = text.find_last_not_of('\n');
  std::string_view body = end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
  say_plain("\033[35m" + std::string(body) + "\033[0m" + std::string(text.substr(body.size())));
}

}  // namespace sheaf::tools

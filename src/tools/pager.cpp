#include "tools/pager.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "builtins/host/output.h"
#include "support/wrap.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

constexpr std::string_view kMore = "\033[7m-- more: Space a page, Enter a line, q leaves --\033[0m";
constexpr unsigned char kControlC = 3, kControlD = 4;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Returns false if the program does not exist or cannot be started.
bool show_by_program(const char* pager, const std::string& text) {
  // NOLINTNEXTLINE(bugprone-command-processor): PAGER is a line for the shell, by convention
  std::FILE* pipe = popen(pager, "w");
  if (!pipe) return false;
  std::fwrite(text.data(), 1, text.size(), pipe);
  int status = pclose(pipe);
  return status != 127 << 8;  // the shell's status for an unknown command
}

void show_by_pages(const std::vector<std::string_view>& lines) {
  RawMode raw(STDIN_FILENO);
  const size_t page = static_cast<size_t>(std::max(terminal_height() - 1, 1));
  size_t shown = 0, until = page;
  for (;;) {
    for (; shown < std::min(until, lines.size()); ++shown)
      builtins::write_out(std::string(lines[shown]) + "\n");
    if (shown == lines.size()) break;
    builtins::write_out(kMore);
    builtins::flush_out();
    unsigned char key = 'q';
    bool got = read(STDIN_FILENO, &key, 1) == 1;
    builtins::write_out("\r\033[K");
    if (!got || key == 'q' || key == 'Q' || key == kControlC || key == kControlD) break;
    if (key == ' ' || key == 'f') until = shown + page;
    if (key == '\r' || key == '\n' || key == 'j') until = shown + 1;
    if (key == 'G') until = lines.size();
  }
  builtins::flush_out();
}

}  // namespace

void show_paged(const std::string& text) {
  if (!is_terminal(STDOUT_FILENO)) return builtins::write_out(text);
  std::string fitted = wrapped(text, terminal_width());
  std::vector<std::string_view> lines = lines_of(fitted);
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();  // not worth a page
  if (!is_capable_terminal(STDIN_FILENO) || static_cast<int>(lines.size()) < terminal_height())
    return builtins::write_out(fitted);
  builtins::flush_out();
  const char* pager = std::getenv("PAGER");
  if (pager && *pager && show_by_program(pager, fitted)) return;
  show_by_pages(lines);
}

}  // namespace sheaf::tools

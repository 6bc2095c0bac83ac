#include "tools/pager.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "builtins/host/output.h"
#include "support/display_width.h"
#include "tools/terminal.h"

namespace sheaf::tools {
namespace {

constexpr std::string_view kMore = "\033[7m-- more: Space a page, Enter a line, q leaves --\033[0m";
constexpr unsigned char kControlC = 3, kControlD = 4;
constexpr int kLeastRoom = 20;  // columns; wrapping to less helps nobody

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The last space that leaves at most `room` columns before it, else the first one: words longer than a line are the
// terminal's to break. npos when there is none.
size_t place_to_cut(std::string_view line, int room) {
  size_t cut = line.find(' ');
  for (size_t at = cut; at != std::string_view::npos; at = line.find(' ', at + 1)) {
    if (static_cast<int>(display_width(line.substr(0, at))) > room) break;
    cut = at;
  }
  return cut;
}

// False when there is no such program or it cannot be started.
bool show_by_program(const char* pager, const std::string& text) {
  // NOLINTNEXTLINE(bugprone-command-processor): PAGER is a line for the shell, by convention
  std::FILE* pipe = popen(pager, "w");
  if (!pipe) return false;
  std::fwrite(text.data(), 1, text.size(), pipe);
  int status = pclose(pipe);
  return status != 127 << 8;  // the shell's: no such command
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

std::string wrapped(std::string_view text, int columns) {
  std::string out;
  for (std::string_view line : lines_of(text)) {
    std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    line.remove_prefix(indent.size());
    int room = columns - static_cast<int>(indent.size());
    while (room >= kLeastRoom && static_cast<int>(display_width(line)) > room) {
      size_t cut = place_to_cut(line, room);
      if (cut == std::string_view::npos) break;
      out += indent + std::string(line.substr(0, cut)) + "\n";
      line.remove_prefix(cut + 1);
    }
    out += (line.empty() ? "" : indent) + std::string(line) + "\n";
  }
  return out;
}

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

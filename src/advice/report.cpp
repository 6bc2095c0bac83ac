#include "advice/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "advice/hints.h"
#include "support/display_width.h"

namespace sheaf::advice {
namespace {

constexpr uint32_t kContextLines = 2;
// A runaway recursion has thousands of entries; the ends tell where it fails and where it started.
constexpr size_t kMaxStack = 20;
constexpr size_t kStackHead = 10;
constexpr size_t kStackTail = 5;

// The colours of the parts: magenta is what the tool says, as everywhere.
constexpr std::string_view kHeadline = "\033[1;35m", kLocation = "\033[36m", kCarets = "\033[1;31m", kHint = "\033[32m",
                           kDim = "\033[2m";

// Newlines stay outside the colour: some terminals paint the next line otherwise.
std::string painted(std::string_view colour, std::string_view text, const Look& look) {
  if (!look.colour) return std::string(text);
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += fmt::format("{}{}\033[0m", colour, text.substr(0, end));
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string_view printable_line(uint32_t source, uint32_t line) {
  std::string_view text = source_line(source, line);
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

// A code point where a terminal shows it. A byte that starts none counts for itself, so that columns here agree with
// start_of: continuation bytes belong to what precedes them.
struct Cell {
  std::string_view text;
  int64_t column, width;  // on the screen
};

std::vector<Cell> cells_of(std::string_view line) {
  constexpr int64_t kTabStop = 8;
  std::vector<Cell> cells;
  int64_t column = 0;
  for (size_t pos = 0; pos < line.size();) {
    size_t end = pos + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80)
      ++end;
    std::string_view text = line.substr(pos, end - pos);
    int64_t width = text == "\t" ? kTabStop - column % kTabStop : display_width(text);
    cells.push_back({text, column, width});
    column += width;
    pos = end;
  }
  return cells;
}

int64_t end_of(const std::vector<Cell>& cells) { return cells.empty() ? 0 : cells.back().column + cells.back().width; }

// The columns [from, from + width) of a line, with "…" in place of the first or last where more is there.
std::string window(const std::vector<Cell>& cells, int64_t from, int64_t width) {
  bool more = end_of(cells) > from + width;
  int64_t first = from > 0 ? from + 1 : 0, last = from + width - (more ? 1 : 0), at = first;
  std::string out = from > 0 ? "…" : "";
  for (const Cell& c : cells) {
    if (c.column < first || c.column + c.width > last) continue;
    if (c.column > at) out.append(static_cast<size_t>(c.column - at), ' ');  // half of a wide character
    // How wide a tab is where the line does not begin at its margin is not up to the terminal.
    if (c.text == "\t")
      out.append(static_cast<size_t>(c.width), ' ');
    else
      out += c.text;
    at = c.column + c.width;
  }
  return more ? out + "…" : out;
}

// The line of the error and the line of carets below it: blanks up to the form and carets under all of it that stands
// on its first line.
struct Marked {
  std::string text, blanks, carets;
};

Marked marked_line(std::string_view line, const Span& span, uint32_t column, int64_t width) {
  std::vector<Cell> cells = cells_of(line);
  size_t first = std::min<size_t>(column - 1, cells.size());
  size_t begin = first < cells.size() ? static_cast<size_t>(cells[first].text.data() - line.data()) : line.size();
  size_t end = std::min(line.size(), begin + (span.end > span.begin ? span.end - span.begin : 0));
  int64_t at = first < cells.size() ? cells[first].column : end_of(cells);
  int64_t until = at;
  for (size_t i = first; i < cells.size() && cells[i].text.data() < line.data() + end; ++i)
    until = cells[i].column + cells[i].width;
  until = std::max(until, at + 1);
  auto blank = [](int64_t n) { return std::string(static_cast<size_t>(n), ' '); };
  auto carets = [](int64_t n) { return std::string(static_cast<size_t>(n), '^'); };
  if (end_of(cells) <= width) {
    // Tabs stay tabs: how wide they are is up to the terminal.
    std::string blanks;
    for (size_t i = 0; i < first; ++i)
      blanks += cells[i].text == "\t" ? "\t" : blank(cells[i].width);
    return {std::string(line), blanks, carets(until - at)};
  }
  // The form is shown with what stands before it where both fit, else with a quarter of the width before it.
  int64_t from = std::min(until, at + width * 2 / 3) < width ? 0 : std::max<int64_t>(0, at - width / 4);
  return {window(cells, from, width), blank(at - from), carets(std::min(until, from + width) - at)};
}

std::string context(const Span& span, const std::string& label, const Look& look) {
  LineCol at = start_of(span);
  uint32_t first = at.line > kContextLines ? at.line - kContextLines : 1;
  uint32_t last = std::min(source_line_count(span.source), at.line + kContextLines);
  // The newline that ends the text starts no line worth showing.
  if (last > at.line && printable_line(span.source, last).empty() && last == source_line_count(span.source)) --last;
  size_t digits = std::to_string(last).size();
  int64_t room = std::max<int64_t>(look.width - static_cast<int64_t>(digits) - 3, 20);
  auto dim = [&](std::string_view text) { return painted(kDim, text, look); };
  std::string gutter = dim(std::string(digits + 1, ' ') + "|");
  std::string out = gutter + "\n";
  for (uint32_t line = first; line <= last; ++line) {
    std::string_view text = printable_line(span.source, line);
    std::string number = dim(fmt::format("{:>{}} |", line, digits));
    if (line != at.line) {
      std::vector<Cell> cells = cells_of(text);
      out += fmt::format("{} {}\n", number, end_of(cells) <= room ? std::string(text) : window(cells, 0, room));
      continue;
    }
    Marked m = marked_line(text, span, at.column, room);
    out += fmt::format("{} {}\n{} {}{}", number, m.text, gutter, m.blanks, painted(kCarets, m.carets, look));
    if (!label.empty()) {
      auto used = static_cast<int64_t>(m.blanks.size() + m.carets.size());
      // A label that does not fit behind the carets goes below them, as far to the right as there is room.
      int64_t spare = std::max<int64_t>(room - display_width(label), 0);
      size_t indent = std::min(m.blanks.size(), static_cast<size_t>(spare));
      bool fits = used < spare;
      out += (fits ? " " : "\n" + gutter + " " + std::string(indent, ' ')) + painted(kCarets, label, look);
    }
    out += "\n";
  }
  return out + gutter + "\n";
}

std::string stack_line(const StackEntry& entry) {
  std::string out = "  = in " + entry.function;
  if (!entry.arguments.empty()) out += " (" + entry.arguments + ")";
  if (entry.call) out += " at " + place(entry.call);
  return out + "\n";
}

std::string stack_lines(const std::vector<StackEntry>& stack) {
  std::string out;
  bool shorten = stack.size() > kMaxStack;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (shorten && i == kStackHead) {
      out += fmt::format("  = ... {} more\n", stack.size() - kStackHead - kStackTail);
      i = stack.size() - kStackTail;
    }
    out += stack_line(stack[i]);
  }
  return out;
}

}  // namespace

std::string details(const UserError& e, const Look& look) {
  std::string out;
  if (e.span) out += painted(kLocation, " --> " + place(e.span) + "\n", look) + context(e.span, e.label, look);
  for (const std::string& note : e.notes)
    out += "  = " + note + "\n";
  auto add_hint = [&](const std::string& hint) { out += painted(kHint, "  = hint: " + hint + "\n", look); };
  for (const std::string& hint : e.hints)
    add_hint(hint);
  bool has_hint = !e.hints.empty() || e.message.find("= hint:") != std::string::npos;
  if (std::string hint = has_hint ? "" : generic_hint(e.message); !hint.empty()) add_hint(hint);
  return out + painted(kDim, stack_lines(e.stack), look);
}

std::string report(const UserError& e, const Look& look) {
  return painted(kHeadline, "error: " + e.message + "\n", look) + details(e, look) + "\n";
}

}  // namespace sheaf::advice

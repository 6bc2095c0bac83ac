#include "advice/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "advice/hints.h"
#include "support/display_width.h"
#include "support/terminal.h"
#include "support/utf8.h"
#include "support/wrap.h"

namespace sheaf::advice {
namespace {

constexpr uint32_t kContextLines = 2;
// A runaway recursion has thousands of entries; both ends show where it fails and where it started.
constexpr size_t kMaxStack = 20;
constexpr size_t kStackHead = 10;
constexpr size_t kStackTail = 5;

// The colours of the parts; magenta marks the tool's own words, as everywhere.
constexpr std::string_view kHeadline = "\033[1;35m", kLocation = "\033[36m", kCarets = "\033[1;31m", kHint = "\033[32m",
                           kDim = "\033[2m";

std::string painted(std::string_view colour, std::string_view text, const Look& look) {
  return look.colour ? sheaf::painted(colour, text) : std::string(text);
}

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F; }

// Replaces ESC by "␛" and so on: strings and binary files may contain terminal control sequences.
std::string harmless(std::string_view text) {
  std::string out;
  for (char c : text)
    if (is_control(c))
      out += {'\xE2', '\x90', static_cast<char>(c == 0x7F ? 0xA1 : 0x80 + c)};
    else
      out += c;
  return out;
}

// Prose that ends in a newline: unchanged, or word-wrapped.
std::string fitted(const std::string& text, const Look& look) {
  constexpr int64_t kHanging = 2;
  return look.terminal ? wrapped(harmless(text), look.width, kHanging) : text;
}

std::string_view printable_line(uint32_t source, uint32_t line) {
  std::string_view text = source_line(source, line);
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

// A character as shown; an invalid one as a terminal would show it.
std::string shown(std::string_view character) { return is_utf8(character) ? harmless(character) : "�"; }

// A code point at its position on a terminal. A stray byte counts as one, so that columns agree with start_of:
// continuation bytes belong to the preceding byte.
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
    int64_t width = text == "\t" ? kTabStop - column % kTabStop : display_width(shown(text));
    cells.push_back({text, column, width});
    column += width;
    pos = end;
  }
  return cells;
}

int64_t end_of(const std::vector<Cell>& cells) { return cells.empty() ? 0 : cells.back().column + cells.back().width; }

// The columns [from, from + width) of a line, with "…" in place of the first or last if the line continues there.
std::string window(const std::vector<Cell>& cells, int64_t from, int64_t width) {
  bool more = end_of(cells) > from + width;
  int64_t first = from > 0 ? from + 1 : 0, last = from + width - (more ? 1 : 0), at = first;
  std::string out = from > 0 ? "…" : "";
  for (const Cell& c : cells) {
    if (c.column < first || c.column + c.width > last) continue;
    if (c.column > at) out.append(static_cast<size_t>(c.column - at), ' ');  // half of a wide character
    // The width of a tab must not depend on the terminal if the line does not start at its margin.
    if (c.text == "\t")
      out.append(static_cast<size_t>(c.width), ' ');
    else
      out += shown(c.text);
    at = c.column + c.width;
  }
  return more ? out + "…" : out;
}

// The line of the error, and the line of carets below it: blanks up to the form, and carets under the part of the form
// on its first line.
struct Marked {
  std::string text, blanks, carets;
};

Marked marked_line(std::string_view line, const Span& span, uint32_t column, int64_t width, bool keep_tabs) {
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
  if (end_of(cells) <= width && keep_tabs) {
    std::string blanks;
    for (size_t i = 0; i < first; ++i)
      blanks += cells[i].text == "\t" ? "\t" : blank(cells[i].width);
    return {std::string(line), blanks, carets(until - at)};
  }
  if (end_of(cells) <= width) return {window(cells, 0, width), blank(at), carets(until - at)};
  // Shows the form with all that precedes it if both fit, else with a quarter of the width before it.
  int64_t from = std::min(until, at + width * 2 / 3) < width ? 0 : std::max<int64_t>(0, at - width / 4);
  return {window(cells, from, width), blank(at - from), carets(std::min(until, from + width) - at)};
}

// A label that does not fit after the carets goes below them, as far right as it fits.
std::string label_text(const Marked& m, const std::string& label, const std::string& gutter, int64_t room,
                       const Look& look) {
  auto used = static_cast<int64_t>(m.blanks.size() + m.carets.size());
  int64_t spare = std::max<int64_t>(room - display_width(label), 0);
  if (used < spare) return " " + painted(kCarets, label, look);
  std::string indent(std::min(m.blanks.size(), static_cast<size_t>(spare)), ' '), out;
  std::string lines = look.terminal ? wrapped(label, room) : label + "\n";
  for (size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = lines.find('\n', at);
    out += "\n" + gutter + " " + indent + painted(kCarets, lines.substr(at, end - at), look);
  }
  return out;
}

std::string context(const Span& span, const std::string& label, const Look& look) {
  LineCol at = start_of(span);
  uint32_t first = at.line > kContextLines ? at.line - kContextLines : 1;
  uint32_t last = std::min(source_line_count(span.source), at.line + kContextLines);
  // The newline at the end of the text starts no line worth showing.
  if (last > at.line && printable_line(span.source, last).empty() && last == source_line_count(span.source)) --last;
  size_t digits = std::to_string(last).size();
  int64_t room = std::max<int64_t>(look.width - static_cast<int64_t>(digits) - 3, 20);
  // After the gutter, a terminal's tab stops would differ from those counted here. Elsewhere tabs stay tabs: their
  // width is up to the program that shows the text.
  const bool keep_tabs = !look.terminal;
  auto dim = [&](std::string_view text) { return painted(kDim, text, look); };
  std::string gutter = dim(std::string(digits + 1, ' ') + "|");
  std::string out = gutter + "\n";
  for (uint32_t line = first; line <= last; ++line) {
    std::string_view text = printable_line(span.source, line);
    std::string number = dim(fmt::format("{:>{}} |", line, digits));
    if (line != at.line) {
      std::vector<Cell> cells = cells_of(text);
      bool whole = end_of(cells) <= room && keep_tabs;
      out += fmt::format("{} {}\n", number, whole ? std::string(text) : window(cells, 0, room));
      continue;
    }
    Marked m = marked_line(text, span, at.column, room, keep_tabs);
    out += fmt::format("{} {}\n{} {}{}", number, m.text, gutter, m.blanks, painted(kCarets, m.carets, look));
    if (!label.empty()) out += label_text(m, label, gutter, room, look);
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
    out += fitted("  = " + note + "\n", look);
  auto add_hint = [&](const std::string& hint) {
    out += painted(kHint, fitted("  = hint: " + hint + "\n", look), look);
  };
  for (const std::string& hint : e.hints)
    add_hint(hint);
  bool has_hint = !e.hints.empty() || e.message.find("= hint:") != std::string::npos;
  if (std::string hint = has_hint ? "" : generic_hint(e.message); !hint.empty()) add_hint(hint);
  return out + painted(kDim, fitted(stack_lines(e.stack), look), look);
}

std::string report(const UserError& e, const Look& look) {
  return painted(kHeadline, fitted("error: " + e.message + "\n", look), look) + details(e, look) + "\n";
}

}  // namespace sheaf::advice

#include "advice/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice/hints.h"
#include "support/display_width.h"

namespace sheaf::advice {
namespace {

constexpr uint32_t kContextLines = 2;
// A runaway recursion has thousands of entries; the ends tell where it fails and where it started.
constexpr size_t kMaxStack = 20;
constexpr size_t kStackHead = 10;
constexpr size_t kStackTail = 5;

// How many bytes the code point at `pos` takes; a byte that starts none counts for itself, so that columns here agree
// with start_of: continuation bytes belong to what precedes them.
size_t code_point_length(std::string_view s, size_t pos) {
  size_t end = pos + 1;
  while (end < s.size() && (static_cast<unsigned char>(s[end]) & 0xC0) == 0x80)
    ++end;
  return end - pos;
}

std::string_view printable_line(uint32_t source, uint32_t line) {
  std::string_view text = source_line(source, line);
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

// Blanks up to the form and carets under all of it that stands on its first line, by the columns that its characters
// take on a terminal. Tabs stay tabs: how wide they are is up to the terminal.
std::string caret_line(std::string_view line, const Span& span, uint32_t column) {
  std::string out;
  size_t pos = 0;
  for (uint32_t c = 1; c < column && pos < line.size(); ++c) {
    size_t length = code_point_length(line, pos);
    if (line[pos] == '\t')
      out += '\t';
    else
      out.append(static_cast<size_t>(display_width(line.substr(pos, length))), ' ');
    pos += length;
  }
  auto carets = static_cast<size_t>(display_width(line.substr(pos, span.end > span.begin ? span.end - span.begin : 0)));
  return out.append(std::max<size_t>(carets, 1), '^');
}

std::string context(const Span& span, const std::string& label) {
  LineCol at = start_of(span);
  uint32_t first = at.line > kContextLines ? at.line - kContextLines : 1;
  uint32_t last = std::min(source_line_count(span.source), at.line + kContextLines);
  // The newline that ends the text starts no line worth showing.
  if (last > at.line && printable_line(span.source, last).empty() && last == source_line_count(span.source)) --last;
  size_t width = std::to_string(last).size();
  std::string gutter = std::string(width + 1, ' ') + "|";
  std::string out = gutter + "\n";
  for (uint32_t line = first; line <= last; ++line) {
    std::string_view text = printable_line(span.source, line);
    out += fmt::format("{:>{}} | {}\n", line, width, text);
    if (line != at.line) continue;
    out += fmt::format("{} {}{}{}\n", gutter, caret_line(text, span, at.column), label.empty() ? "" : " ", label);
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

std::string details(const UserError& e) {
  std::string out;
  if (e.span) out += " --> " + place(e.span) + "\n" + context(e.span, e.label);
  for (const std::string& note : e.notes)
    out += "  = " + note + "\n";
  for (const std::string& hint : e.hints)
    out += "  = hint: " + hint + "\n";
  bool has_hint = !e.hints.empty() || e.message.find("= hint:") != std::string::npos;
  if (std::string hint = has_hint ? "" : generic_hint(e.message); !hint.empty()) out += "  = hint: " + hint + "\n";
  return out + stack_lines(e.stack);
}

std::string report(const UserError& e) { return "error: " + e.message + "\n" + details(e) + "\n"; }

}  // namespace sheaf::advice

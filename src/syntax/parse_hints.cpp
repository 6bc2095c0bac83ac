#include "syntax/parse_hints.h"

#include <fmt/format.h>

#include "syntax/lexer.h"

namespace sheaf::syntax {
namespace {

// Walks forward through the text; queries with increasing offsets take one pass in total.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  LineCol at(uint32_t offset) {
    for (; pos_ < offset && pos_ < text_.size(); ++pos_) {
      if (text_[pos_] == '\n')
        at_ = {at_.line + 1, 1};
      else if ((static_cast<unsigned char>(text_[pos_]) & 0xC0) != 0x80)
        ++at_.column;
    }
    return at_;
  }

 private:
  std::string_view text_;
  size_t pos_ = 0;
  LineCol at_{1, 1};
};

struct LineBrackets {
  uint32_t line = 0;
  int openers = 0;
  int closers = 0;
};

// The bracket counts of every line that has any, up to the line of offset `last`.
std::vector<LineBrackets> brackets_by_line(std::string_view text, uint32_t last) {
  std::vector<LineBrackets> lines;
  Lexer lexer(text);
  Cursor cursor(text);
  uint32_t last_line = Cursor(text).at(last).line;
  for (Token t = lexer.next_code(); t.kind != TokenKind::End; t = lexer.next_code()) {
    if (t.kind != TokenKind::Open && t.kind != TokenKind::Close) continue;
    uint32_t line = cursor.at(t.begin).line;
    if (line > last_line) break;
    if (lines.empty() || lines.back().line != line) lines.push_back({line});
    ++(t.kind == TokenKind::Open ? lines.back().openers : lines.back().closers);
  }
  return lines;
}

int surplus_closers(std::string_view text) {
  int surplus = 0;
  Lexer lexer(text);
  for (Token t = lexer.next_code(); t.kind != TokenKind::End; t = lexer.next_code()) {
    if (t.kind == TokenKind::Open) --surplus;
    if (t.kind == TokenKind::Close) ++surplus;
  }
  // A bracket left open further down may hide the surplus, but the current one is certainly surplus.
  return std::max(surplus, 1);
}

std::string described(const OpenBracket& b) {
  return b.opener.ends_with('(') ? fmt::format("{}{} ...)", b.opener, b.head)
                                 : fmt::format("{}...{}", b.opener, closer_of(b.opener.back()));
}

}  // namespace

std::vector<std::string> unclosed_hints(std::string_view text, const OpenBracket& innermost) {
  std::vector<std::string> hints;
  char closer = closer_of(innermost.opener.back());
  Cursor cursor(text);
  LineCol open = cursor.at(innermost.begin);
  bool found = false;
  for (uint32_t begin : innermost.item_begins) {
    LineCol item = cursor.at(begin);
    if (item.line == open.line || item.column > open.column) continue;
    hints.push_back(
        fmt::format("Line {}, column {} starts a form no deeper than the '{}' of line {}: a '{}' is "
                    "probably missing before it.",
                    item.line, item.column, innermost.opener, open.line, closer));
    found = true;
    break;
  }
  if (!found)
    hints.push_back(fmt::format("{} of line {} is probably the one left open.", described(innermost), open.line));
  hints.push_back(innermost.depth == 1 ? "Add 1 closing delimiter at the end."
                                       : fmt::format("Add {} closing delimiters at the end.", innermost.depth));
  if (innermost.depth > 4)
    hints.push_back(
        fmt::format("{} forms are open here; smaller functions make a lost delimiter easier to see.", innermost.depth));
  return hints;
}

std::string mismatch_hint(std::string_view text, const OpenBracket& innermost) {
  char expected = closer_of(innermost.opener.back());
  return fmt::format("Expected '{}' to close the '{}' opened at line {}; a '{}' is probably missing before this point.",
                     expected, innermost.opener, Cursor(text).at(innermost.begin).line, expected);
}

std::vector<std::string> stray_closer_hints(std::string_view text, uint32_t at) {
  int extra = surplus_closers(text);
  std::vector<std::string> hints{fmt::format("Found {} extra closing delimiter{} in the file; look at the line above.",
                                             extra, extra == 1 ? "" : "s")};
  // The form that ended too early began after the last line at which every bracket was closed, so only later lines
  // count.
  LineBrackets worst;
  int balance = 0;
  std::vector<LineBrackets> lines = brackets_by_line(text, at);
  for (const LineBrackets& l : lines) {
    if (balance == 0) worst = {};
    balance += l.openers - l.closers;
    bool suspicious = l.closers >= 4 && l.closers > l.openers;
    if (suspicious && l.closers - l.openers >= worst.closers - worst.openers) worst = l;
  }
  if (worst.line != 0) {
    hints.push_back(fmt::format("Line {} closes {} and opens {}: the surplus '{}' is probably there.", worst.line,
                                worst.closers, worst.openers, text[at]));
  } else {
    hints.push_back(fmt::format("The surplus '{}' is on line {}.", text[at], Cursor(text).at(at).line));
  }
  return hints;
}

}  // namespace sheaf::syntax

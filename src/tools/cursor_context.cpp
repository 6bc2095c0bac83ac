#include "tools/cursor_context.h"

#include <cctype>

#include "syntax/lexer.h"

namespace sheaf::tools {
namespace {

using syntax::Lexer;
using syntax::Token;
using syntax::TokenKind;

// A bracket still open at the cursor.
struct Open {
  char bracket;
  bool quoted;            // data: contains no calls
  size_t items = 0;       // read so far
  std::string_view head;  // the first of them, if it is an atom
};

}  // namespace

CursorContext context_at(std::string_view text, size_t cursor) {
  text = text.substr(0, cursor);
  CursorContext out;
  out.word = cursor;
  std::vector<Open> open;
  bool quote_before = false;
  Token last;
  Lexer lexer(text);
  auto add_item = [&](std::string_view atom) {
    if (!open.empty() && open.back().items++ == 0) open.back().head = atom;
  };
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    std::string_view s = lexer.text_of(t);
    switch (t.kind) {
      case TokenKind::Open: {
        bool quoted = quote_before || (!open.empty() && open.back().quoted);
        add_item("");
        open.push_back({s.back(), quoted, 0, {}});
        break;
      }
      case TokenKind::Close:
        if (!open.empty()) open.pop_back();
        break;
      case TokenKind::Atom:
        if (t.end < cursor) add_item(s);
        break;
      case TokenKind::String: add_item(""); break;
      case TokenKind::UnterminatedString:
      case TokenKind::UnterminatedEscape:
        out.place = CursorContext::Place::String;
        out.word = t.begin + 1;
        break;
      case TokenKind::Comment:
        // The newline is not part of a comment: right after one the cursor is on the next line.
        if (t.end == cursor) out.place = CursorContext::Place::Comment;
        break;
      default: break;
    }
    quote_before = t.kind == TokenKind::Prefix && (s == "'" || s == "`");
    last = t;
  }
  if (last.kind == TokenKind::Atom && last.end == cursor) out.word = last.begin;
  out.at_head = out.place == CursorContext::Place::Code && !open.empty() && open.back().bracket == '(' &&
                open.back().items == 0 && !open.back().quoted;
  for (size_t i = open.size(); i-- > 0 && !open[i].quoted;) {
    if (open[i].bracket == '{') out.in_dict = true;
    if (open[i].bracket != '(' || open[i].head.empty()) continue;
    out.call = open[i].head;
    break;
  }
  if (out.call.empty()) out.in_dict = false;
  return out;
}

std::vector<std::string> atoms_of(std::string_view text, size_t cursor, bool keywords) {
  std::vector<std::string> out;
  Lexer lexer(text);
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    if (t.kind != TokenKind::Atom || t.end == cursor) continue;
    std::string_view s = lexer.text_of(t);
    auto first = static_cast<unsigned char>(s[0]);
    bool symbol = std::isalpha(first) || first >= 0x80;
    if (s.size() > 1 && (keywords ? first == ':' : symbol)) out.emplace_back(s);
  }
  return out;
}

}  // namespace sheaf::tools

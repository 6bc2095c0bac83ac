#include "tools/highlight.h"

#include <algorithm>
#include <charconv>

#include "syntax/lexer.h"

namespace sheaf::tools {
namespace {

using syntax::Token;
using syntax::TokenKind;

bool is_number(std::string_view s) {
  if (s.starts_with('+')) s.remove_prefix(1);
  double x;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
  return error == std::errc() && end == s.data() + s.size();
}

Style atom_style(std::string_view s, const std::function<NameKind(std::string_view)>& kind_of) {
  if (s.starts_with(':')) return Style::Keyword;
  if (is_number(s) || s == "true" || s == "false" || s == "nil") return Style::Number;
  switch (kind_of(s)) {
    case NameKind::Special: return Style::Special;
    case NameKind::Function: return Style::Function;
    default: return Style::Plain;
  }
}

}  // namespace

std::string_view style_code(Style s) {
  switch (s) {
    case Style::Plain: return "\033[0m";
    case Style::Comment: return "\033[0;90m";
    case Style::String: return "\033[0;32m";
    case Style::Number: return "\033[0;36m";
    case Style::Keyword: return "\033[0;33m";
    case Style::Special: return "\033[0;1;34m";
    case Style::Function: return "\033[0;34m";
    case Style::Match: return "\033[0;1;7m";
    case Style::Error: return "\033[0;31m";
  }
  return "";
}

std::vector<Style> highlight(const std::string& text, size_t cursor,
                             const std::function<NameKind(std::string_view)>& kind_of) {
  std::vector<Style> styles(text.size(), Style::Plain);
  auto paint = [&](const Token& t, Style s) { std::fill(styles.begin() + t.begin, styles.begin() + t.end, s); };
  syntax::Lexer lexer(text);
  std::vector<Token> open;
  auto touches = [&](const Token& t) { return t.end == cursor || (cursor >= t.begin && cursor < t.end); };
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    switch (t.kind) {
      case TokenKind::Comment: paint(t, Style::Comment); break;
      case TokenKind::String:
      case TokenKind::UnterminatedString:
      case TokenKind::UnterminatedEscape: paint(t, Style::String); break;
      case TokenKind::Atom: paint(t, atom_style(lexer.text_of(t), kind_of)); break;
      case TokenKind::Open: open.push_back(t); break;
      case TokenKind::Close: {
        bool fits = !open.empty() && syntax::closer_of(text[open.back().end - 1]) == text[t.begin];
        if (!fits) {
          paint(t, Style::Error);
          break;
        }
        if (touches(t) || touches(open.back())) {
          paint(t, Style::Match);
          paint(open.back(), Style::Match);
        }
        open.pop_back();
        break;
      }
      default: break;
    }
  }
  return styles;
}

size_t indent_after(std::string_view text) {
  syntax::Lexer lexer(text);
  std::vector<Token> open;
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    if (t.kind == TokenKind::Open)
      open.push_back(t);
    else if (t.kind == TokenKind::Close && !open.empty())
      open.pop_back();
    else if (t.kind == TokenKind::UnterminatedString || t.kind == TokenKind::UnterminatedEscape)
      return 0;
  }
  if (open.empty()) return 0;
  size_t line = text.rfind('\n', open.back().begin);
  size_t column = open.back().end - 1 - (line == std::string_view::npos ? 0 : line + 1);
  return column + (text[open.back().end - 1] == '(' ? 2 : 1);
}

}  // namespace sheaf::tools

#include "syntax/lexer.h"

#include <algorithm>
#include <array>

namespace sheaf::syntax {
namespace {

bool is_delimiter(char c) {
  return c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}' || c == ';' || c == '"' || c == '\'' ||
         c == '`' || c == '~';
}

// The Unicode White_Space characters above ASCII, as UTF-8 bytes. Their lead bytes never occur inside another
// character, so testing any offset is safe.
size_t wide_space_length(std::string_view rest) {
  auto byte = [&](size_t i) { return i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0; };
  if (byte(0) == 0xC2) return byte(1) == 0x85 || byte(1) == 0xA0 ? 2 : 0;
  if (byte(0) == 0xE1) return byte(1) == 0x9A && byte(2) == 0x80 ? 3 : 0;
  if (byte(0) == 0xE3) return byte(1) == 0x80 && byte(2) == 0x80 ? 3 : 0;
  if (byte(0) != 0xE2) return 0;
  if (byte(1) == 0x81) return byte(2) == 0x9F ? 3 : 0;
  if (byte(1) != 0x80) return 0;
  bool is_space = (byte(2) >= 0x80 && byte(2) <= 0x8A) || byte(2) == 0xA8 || byte(2) == 0xA9 || byte(2) == 0xAF;
  return is_space ? 3 : 0;
}

}  // namespace

size_t space_length(std::string_view text, size_t pos) {
  if (pos >= text.size()) return 0;
  char c = text[pos];
  if (c == ' ' || (c >= '\t' && c <= '\r') || c == ',') return 1;
  if (static_cast<unsigned char>(c) < 0x80) return 0;
  // A byte order mark is invisible in editors, so an error about a symbol that contains it would be incomprehensible.
  if (pos == 0 && text.starts_with("\xEF\xBB\xBF")) return 3;
  return wide_space_length(text.substr(pos));
}

char closer_of(char opener) { return opener == '(' ? ')' : opener == '[' ? ']' : '}'; }

bool is_dtype_suffix(std::string_view token) {
  constexpr std::array<std::string_view, 12> kSuffixes = {":f32", ":f64",  ":bf16", ":f16", ":i32", ":i64",
                                                          ":u32", ":bool", ":i8",   ":u8",  ":i16", ":u16"};
  return std::find(kSuffixes.begin(), kSuffixes.end(), token) != kSuffixes.end();
}

Token Lexer::token(TokenKind kind, size_t end) {
  Token t{kind, static_cast<uint32_t>(pos_), static_cast<uint32_t>(end)};
  pos_ = end;
  return t;
}

Token Lexer::raw_string_token() {
  size_t quote = text_.find('"', pos_ + kRawQuote.size());
  if (quote == std::string_view::npos) return token(TokenKind::UnterminatedString, text_.size());
  return token(TokenKind::String, quote + 1);
}

Token Lexer::string_token() {
  size_t i = pos_ + 1;
  while (i < text_.size() && text_[i] != '"') {
    if (text_[i] == '\\' && ++i == text_.size()) return token(TokenKind::UnterminatedEscape, i);
    ++i;
  }
  if (i == text_.size()) return token(TokenKind::UnterminatedString, i);
  return token(TokenKind::String, i + 1);
}

Token Lexer::comment() { return token(TokenKind::Comment, std::min(text_.find('\n', pos_), text_.size())); }

Token Lexer::next() {
  while (size_t n = space_length(text_, pos_))
    pos_ += n;
  if (pos_ >= text_.size()) return token(TokenKind::End, text_.size());
  switch (text_[pos_]) {
    case '(':
    case '[':
    case '{': return token(TokenKind::Open, pos_ + 1);
    case ')':
    case ']':
    case '}': return token(TokenKind::Close, pos_ + 1);
    case '\'':
    case '`': return token(TokenKind::Prefix, pos_ + 1);
    case '~': return token(TokenKind::Prefix, pos_ + (text_.substr(pos_).starts_with("~@") ? 2 : 1));
    case '"': return string_token();
    case ';': return comment();
    case '#':
      if (pos_ == 0 && text_.starts_with("#!")) return comment();  // the shebang line of a script
      if (text_.substr(pos_).starts_with("#(")) return token(TokenKind::Open, pos_ + 2);
      if (text_.substr(pos_).starts_with(kRawQuote)) return raw_string_token();
      break;
    default: break;
  }
  size_t end = pos_;
  while (end < text_.size() && !is_delimiter(text_[end]) && space_length(text_, end) == 0)
    ++end;
  return token(TokenKind::Atom, end);
}

Token Lexer::next_code() {
  Token t = next();
  while (t.kind == TokenKind::Comment)
    t = next();
  return t;
}

}  // namespace sheaf::syntax

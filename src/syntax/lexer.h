// Characters to tokens, the first half of the reader; the formatter and the prompt use it too. Never fails: an
// unterminated string is a separate kind of token. Bytes that are not UTF-8 are ordinary symbol characters.
#pragma once
#include <cstdint>
#include <string_view>

namespace sheaf::syntax {

enum class TokenKind : uint8_t {
  Open,                // ( [ { and #(
  Close,               // ) ] }
  Prefix,              // ' ` ~ ~@
  String,              // with its quotes; also a raw one, #r"…", which ends at the first quote
  UnterminatedString,  // the text ended inside it …
  UnterminatedEscape,  // … or right after a backslash
  Atom,                // numbers, keywords, symbols, literals
  Comment,             // from the semicolon to the end of the line, without the newline
  End,
};

// Opens a raw string, in which backslashes have no special meaning.
inline constexpr std::string_view kRawQuote = "#r\"";

struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t begin = 0;  // byte offsets, half-open
  uint32_t end = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text, size_t begin = 0) : text_(text), pos_(begin) {}
  Token next();
  // The next token that is not a comment.
  Token next_code();
  std::string_view text_of(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }

 private:
  Token token(TokenKind kind, size_t end);
  Token string_token();
  Token raw_string_token();
  Token comment();

  std::string_view text_;
  size_t pos_;
};

// The length in bytes of the whitespace character (comma included) at `pos`, or 0.
size_t space_length(std::string_view text, size_t pos);

// The closer for the last character of an opener: ) for (, and so on.
char closer_of(char opener);

// True if a keyword after a vector is a dtype suffix, `[1 2] :i32`.
bool is_dtype_suffix(std::string_view token);

}  // namespace sheaf::syntax

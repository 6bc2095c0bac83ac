// Reads the text forms of the IRs: words, numbers and punctuation, with comments from ';' or '#' to the end of the
// line. Unexpected input raises a UserError with its position. Positions refer to a registered source.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "support/source.h"

namespace sheaf {

class Scanner {
 public:
  explicit Scanner(uint32_t source);
  void skip_blanks();                    // and comments
  bool at_end();                         // nothing but blanks and comments remains
  bool next_is(std::string_view token);  // does not consume it
  bool accept(std::string_view token);   // consumes it if it is next; a word must end there
  void expect(std::string_view token);
  std::string_view word();    // letters, digits and _-?!. ; at least one
  std::string_view number();  // a number in any notation, also inf, nan:0x7fc00000, true
  int64_t integer();
  std::string quoted();  // "text", with \" \\ \n
  // Accepts the character only if no blank precedes it.
  bool accept_adjacent(char c);
  // The character `ahead` positions on; 0 past the end.
  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  [[noreturn]] void fail(const std::string& message);

 private:
  uint32_t source_;
  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace sheaf

// Code points of UTF-8 text and the character classes that tokenizers use. Functions that take text expect valid UTF-8
// unless they say otherwise.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "support/utf8.h"

namespace sheaf::tokenizers {

struct Char {
  int32_t code;
  uint32_t num_bytes;
};

// The number of bytes of a character, from its first byte.
inline uint32_t char_bytes(char first) {
  auto b = static_cast<unsigned char>(first);
  return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

// The first character of a non-empty text.
inline Char next_char(std::string_view s) {
  auto b = [&](size_t i) { return static_cast<int32_t>(static_cast<unsigned char>(s[i])); };
  uint32_t n = char_bytes(s[0]);
  if (n == 1) return {b(0), 1};
  if (n == 2) return {(b(0) & 0x1F) << 6 | (b(1) & 0x3F), 2};
  if (n == 3) return {(b(0) & 0x0F) << 12 | (b(1) & 0x3F) << 6 | (b(2) & 0x3F), 3};
  return {(b(0) & 0x07) << 18 | (b(1) & 0x3F) << 12 | (b(2) & 0x3F) << 6 | (b(3) & 0x3F), 4};
}

template <class F>
void for_each_char(std::string_view s, F&& f) {
  while (!s.empty()) {
    Char c = next_char(s);
    f(c.code);
    s.remove_prefix(c.num_bytes);
  }
}

inline constexpr std::string_view kReplacementChar = "\xEF\xBF\xBD";  // U+FFFD

void append_char(std::string& out, int32_t code);
size_t count_chars(std::string_view s);

// Converts arbitrary bytes to valid UTF-8: each maximal truncated sequence becomes one U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

bool is_white_space(int32_t c);  // Unicode's White_Space
bool is_numeric(int32_t c);      // N*
bool is_punctuation(int32_t c);  // ASCII punctuation, P*
bool is_word_char(int32_t c);    // \w
bool is_mark(int32_t c);         // M*
bool is_nonspacing_mark(int32_t c);
bool is_control(int32_t c);  // Cc, Cf, Co

// The byte alphabet of GPT-2: each byte as a printable character, and back (-1: not in the alphabet).
int32_t char_of_byte(uint8_t byte);
int byte_of_char(int32_t c);

}  // namespace sheaf::tokenizers

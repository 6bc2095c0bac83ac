#include "tokenizers/characters.h"

#include <utf8proc.h>

#include <array>

namespace sheaf::tokenizers {
namespace {

struct ByteAlphabet {
  std::array<int32_t, 256> chars{};
  std::array<int16_t, 512> bytes{};
  ByteAlphabet() {
    bytes.fill(-1);
    int32_t spare = 256;  // bytes without a printable Latin-1 character use the code points from here
    for (int b = 0; b < 256; ++b) {
      bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      chars[b] = printable ? b : spare++;
      bytes[chars[b]] = static_cast<int16_t>(b);
    }
  }
};

const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

}  // namespace

void append_char(std::string& out, int32_t code) {
  utf8proc_uint8_t bytes[4];
  out.append(reinterpret_cast<char*>(bytes), static_cast<size_t>(utf8proc_encode_char(code, bytes)));
}

size_t count_chars(std::string_view s) {
  size_t n = 0;
  for (char c : s)
    n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

std::string to_valid_utf8(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  while (true) {
    size_t good = valid_prefix(s);
    out.append(s.substr(0, good));
    s.remove_prefix(good);
    if (s.empty()) return out;
    out += kReplacementChar;
    s.remove_prefix(measure_char(s).num_bytes);
  }
}

bool is_white_space(int32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  if (c == 0x85) return true;
  auto category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool is_numeric(int32_t c) {
  auto category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(int32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  auto category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_word_char(int32_t c) {
  auto category = utf8proc_category(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) || category == UTF8PROC_CATEGORY_PC;
}

bool is_mark(int32_t c) {
  auto category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_MN; }

bool is_control(int32_t c) {
  auto category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

int32_t char_of_byte(uint8_t byte) { return byte_alphabet().chars[byte]; }

int byte_of_char(int32_t c) { return c >= 0 && c < 512 ? byte_alphabet().bytes[c] : -1; }

}  // namespace sheaf::tokenizers

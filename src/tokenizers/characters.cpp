#include "tokenizers/characters.h"

#include <utf8proc.h>

#include <array>
#include <cstring>

namespace sheaf::tokenizers {
namespace {

// The bytes that may follow a lead byte at once; those after them are 80…BF. Empty: not a lead byte.
struct Second {
  unsigned char low, high;
  int more;  // continuation bytes in all
};

Second second_after(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {0x80, 0xBF, 1};
  if (lead == 0xE0) return {0xA0, 0xBF, 2};
  if (lead == 0xED) return {0x80, 0x9F, 2};
  if (lead >= 0xE1 && lead <= 0xEF) return {0x80, 0xBF, 2};
  if (lead == 0xF0) return {0x90, 0xBF, 3};
  if (lead >= 0xF1 && lead <= 0xF3) return {0x80, 0xBF, 3};
  if (lead == 0xF4) return {0x80, 0x8F, 3};
  return {1, 0, 0};
}

// The length of the character at the start and whether it is whole; of a broken one, what there is of it (at least 1).
std::pair<size_t, bool> measure(std::string_view s) {
  auto lead = static_cast<unsigned char>(s[0]);
  if (lead < 0x80) return {1, true};
  Second next = second_after(lead);
  if (next.more == 0) return {1, false};
  size_t n = 1;
  for (int i = 0; i < next.more; ++i, ++n) {
    if (n >= s.size()) return {n, false};
    auto b = static_cast<unsigned char>(s[n]);
    if (i == 0 ? b < next.low || b > next.high : b < 0x80 || b > 0xBF) return {n, false};
  }
  return {n, true};
}

struct ByteAlphabet {
  std::array<int32_t, 256> chars{};
  std::array<int16_t, 512> bytes{};
  ByteAlphabet() {
    bytes.fill(-1);
    int32_t spare = 256;  // bytes without a printable Latin-1 character take the ones after it
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

size_t valid_prefix(std::string_view s) {
  size_t at = 0;
  while (at < s.size()) {
    uint64_t eight;
    if (at + 8 <= s.size() && (std::memcpy(&eight, s.data() + at, 8), (eight & 0x8080808080808080) == 0)) {
      at += 8;
      continue;
    }
    auto [n, whole] = measure(s.substr(at));
    if (!whole) return at;
    at += n;
  }
  return at;
}

std::string to_valid_utf8(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  while (true) {
    size_t good = valid_prefix(s);
    out.append(s.substr(0, good));
    s.remove_prefix(good);
    if (s.empty()) return out;
    out += "\xEF\xBF\xBD";
    s.remove_prefix(measure(s).first);
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

std::string bytes_as_chars(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (char b : bytes)
    append_char(out, char_of_byte(static_cast<uint8_t>(b)));
  return out;
}

}  // namespace sheaf::tokenizers

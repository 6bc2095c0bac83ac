#include "syntax/string_literal.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace sheaf::syntax {
namespace {

constexpr uint32_t kLastCodePoint = 0x10FFFF;

bool is_high_surrogate(uint32_t c) { return c >= 0xD800 && c < 0xDC00; }
bool is_low_surrogate(uint32_t c) { return c >= 0xDC00 && c < 0xE000; }

void append_utf8(std::string& out, uint32_t c) {
  auto continuation = [&](int shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    continuation(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    continuation(6);
    continuation(0);
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::optional<char> simple_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case '0': return '\0';
    case 'e': return '\x1b';
    case '\\': return '\\';
    case '"': return '"';
    default: return std::nullopt;
  }
}

class Unescaper {
 public:
  Unescaper(std::string_view text, const std::function<void(const BadEscape&)>& report)
      : text_(text), report_(report) {}

  std::string run() {
    out_.reserve(text_.size());
    while (pos_ < text_.size()) {
      if (text_[pos_] == '\\')
        escape();
      else
        out_ += text_[pos_++];
    }
    return std::move(out_);
  }

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  // The end of the character at `i`, including all its bytes.
  size_t end_of_character(size_t i) const {
    ++i;
    while (i < text_.size() && (static_cast<unsigned char>(text_[i]) & 0xC0) == 0x80)
      ++i;
    return std::min(i, text_.size());
  }

  void bad(size_t end, std::string message) {
    report_({pos_, end, std::move(message)});
    pos_ = end;
  }

  void escape() {
    char c = at(pos_ + 1);
    if (c == 'x') return two_digits();
    if (c == 'u') return unicode();
    // "\033" is an escape character in C and Python: reading it as a NUL and two digits would be a silent error.
    if (c == '0' && is_digit(at(pos_ + 2))) {
      size_t length = is_digit(at(pos_ + 3)) ? 4 : 3;
      return bad(pos_ + length, fmt::format("Unknown escape {} in a string", text_.substr(pos_, length)));
    }
    std::optional<char> simple = simple_escape(c);
    if (!simple) {
      size_t end = end_of_character(pos_ + 1);
      bool visible = static_cast<unsigned char>(c) > ' ';
      return bad(end, visible ? fmt::format("Unknown escape {} in a string", text_.substr(pos_, end - pos_))
                              : "A backslash with nothing after it in a string");
    }
    out_ += *simple;
    pos_ += 2;
  }

  // The number of hexadecimal digits at `i`, at most `limit`.
  size_t count_digits(size_t i, size_t limit) const {
    size_t n = 0;
    while (n < limit && is_hex_digit(at(i + n)))
      ++n;
    return n;
  }
  uint32_t number(size_t i, size_t digits) const {
    uint32_t value = 0;
    std::from_chars(text_.data() + i, text_.data() + i + digits, value, 16);
    return value;
  }

  void two_digits() {
    if (size_t n = count_digits(pos_ + 2, 2); n < 2)
      return bad(pos_ + 2 + n, "\\x takes two hexadecimal digits, as in \\x41");
    append_utf8(out_, number(pos_ + 2, 2));
    pos_ += 4;
  }

  void unicode() {
    size_t end;
    uint32_t c;
    if (at(pos_ + 2) == '{') {
      size_t digits = count_digits(pos_ + 3, text_.size());
      end = pos_ + 3 + digits;
      if (digits == 0 || at(end) != '}') return bad(end, "\\u{ takes hexadecimal digits and a }, as in \\u{1F600}");
      ++end;
      c = digits > 8 ? kLastCodePoint + 1 : number(pos_ + 3, digits);
    } else {
      size_t digits = count_digits(pos_ + 2, 4);
      end = pos_ + 2 + digits;
      if (digits < 4) return bad(end, "\\u takes four hexadecimal digits, as in \\u00e9, or any number in braces");
      c = number(pos_ + 2, 4);
      // A surrogate pair, as JSON writes characters beyond U+FFFF.
      if (is_high_surrogate(c) && text_.substr(end).starts_with("\\u") && count_digits(end + 2, 4) == 4 &&
          is_low_surrogate(number(end + 2, 4))) {
        c = 0x10000 + ((c - 0xD800) << 10) + (number(end + 2, 4) - 0xDC00);
        end += 6;
      }
    }
    if (c > kLastCodePoint || is_high_surrogate(c) || is_low_surrogate(c))
      return bad(end, fmt::format("{} is no Unicode character", text_.substr(pos_, end - pos_)));
    append_utf8(out_, c);
    pos_ = end;
  }

  std::string_view text_;
  const std::function<void(const BadEscape&)>& report_;
  size_t pos_ = 0;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view written, const std::function<void(const BadEscape&)>& report) {
  return Unescaper(written, report).run();
}

std::string known_escapes() { return R"(\n \t \r \0 \e \\ \" \xHH \uHHHH \u{H…})"; }

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool digit_follows = i + 1 < text.size() && is_digit(text[i + 1]);
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\x1b': out += "\\e"; break;
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      default:
        if (c == '\0' && !digit_follows)
          out += "\\0";
        else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
          out += fmt::format("\\x{:02x}", c);
        else
          out += c;
    }
  }
  return out + "\"";
}

}  // namespace sheaf::syntax

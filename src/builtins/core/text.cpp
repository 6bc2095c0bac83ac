#include "builtins/core/text.h"

#include <utf8proc.h>

#include <charconv>
#include <cstdlib>

#include "trace/traced.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

bool is_space(int32_t cp) {
  if (cp < 0) return false;
  if ((cp >= 9 && cp <= 13) || cp == 0x85) return true;
  auto category = utf8proc_category(cp);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

// from_chars rejects a plus sign.
std::string_view number_text(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

}  // namespace

std::pair<int32_t, size_t> next_char(std::string_view s) {
  utf8proc_int32_t cp;
  auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data()),
                            static_cast<utf8proc_ssize_t>(s.size()), &cp);
  if (n <= 0) return {-1, 1};
  return {cp, static_cast<size_t>(n)};
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty()) {
    auto [cp, n] = next_char(s);
    if (!is_space(cp)) break;
    s.remove_prefix(n);
  }
  while (!s.empty()) {
    size_t at = s.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(s[at]) & 0xC0) == 0x80)
      --at;
    if (!is_space(next_char(s.substr(at)).first)) break;
    s = s.substr(0, at);
  }
  return s;
}

Value joined_text(std::vector<Value>& parts) {
  // Text that grows at its end, (str acc "x"), grows in place if it is unshared.
  if (parts.size() > 1 && parts[0].is_string() && parts[0].unique()) {
    Value grown = std::move(parts[0]);
    auto& text = const_cast<std::string&>(grown.as_string());
    for (size_t i = 1; i < parts.size(); ++i)
      text += text_of(parts[i]);
    return grown;
  }
  std::string out;
  for (const Value& v : parts)
    out += text_of(v);
  return Value::string(std::move(out));
}

std::string text_of(const Value& v) { return v.is_string() ? v.as_string() : render(trace::concrete_tree(v)); }

std::optional<int64_t> parse_int(std::string_view text) {
  text = number_text(text);
  int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(n) : std::nullopt;
}

std::optional<double> parse_float(std::string_view text) {
  text = number_text(text);
  double x = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  // Numbers out of range are not an error here: strtod returns inf or 0, like the reader.
  if (error == std::errc::result_out_of_range)
    x = std::strtod(std::string(text).c_str(), nullptr);
  else if (error != std::errc())
    return std::nullopt;
  return end == text.data() + text.size() && !text.empty() ? std::optional(x) : std::nullopt;
}

}  // namespace sheaf::builtins

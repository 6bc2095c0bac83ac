// Format strings: Python's mini-language over our values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "value/print.h"

namespace sheaf {
namespace {

constexpr int kMaxWidth = 1'000'000, kMaxPrecision = 10'000;

struct Spec {
  std::string fill = " ";
  char align = 0;   // '<' '>' '^' '=', 0: by the kind of value
  char sign = '-';  // '-' '+' ' '
  bool alternate = false;
  int width = 0;
  char grouping = 0;  // ',' '_'
  int precision = -1;
  char type = 0;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t utf8_length(unsigned char lead) { return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

int take_number(std::string_view& s, int limit, const char* what) {
  int64_t n = 0;
  for (; !s.empty() && is_digit(s[0]); s.remove_prefix(1))
    if (n <= limit) n = n * 10 + (s[0] - '0');
  if (n > limit) throw runtime_error("format: " + std::string(what) + " above " + std::to_string(limit));
  return static_cast<int>(n);
}

bool take(std::string_view& s, std::string_view any_of, char& into) {
  if (s.empty() || any_of.find(s[0]) == std::string_view::npos) return false;
  into = s[0];
  s.remove_prefix(1);
  return true;
}

// Returns nothing if the text is not in the mini-language.
std::optional<Spec> parse_spec(std::string_view s) {
  Spec spec;
  size_t first = s.empty() ? 0 : utf8_length(s[0]);
  bool fills = first > 0 && s.size() > first && is_align(s[first]);
  if (fills) {
    spec.fill = s.substr(0, first);
    spec.align = s[first];
    s.remove_prefix(first + 1);
  } else {
    take(s, "<>^=", spec.align);
  }
  char ignored;
  take(s, "+- ", spec.sign);
  spec.alternate = take(s, "#", ignored);
  if (take(s, "0", ignored)) {
    if (!fills) spec.fill = "0";
    if (!spec.align) spec.align = '=';
  }
  spec.width = take_number(s, kMaxWidth, "width");
  take(s, ",_", spec.grouping);
  if (take(s, ".", ignored)) {
    if (s.empty() || !is_digit(s[0])) return std::nullopt;
    spec.precision = take_number(s, kMaxPrecision, "precision");
  }
  take(s, "deEfFgG%sxXob", spec.type);
  return s.empty() ? std::optional(spec) : std::nullopt;
}

std::string to_text(double v, std::chars_format how, int precision) {
  std::string out(precision + 400, '\0');  // the largest double has 309 digits before the point
  auto r = std::to_chars(out.data(), out.data() + out.size(), v, how, precision);
  out.resize(r.ptr - out.data());
  return out;
}

// 'g' with '#': keeps the point and the trailing zeros.
std::string with_trailing_zeros(std::string text, int precision) {
  size_t e = text.find('e');
  std::string exponent = e == std::string::npos ? "" : text.substr(e);
  std::string mantissa = text.substr(0, e);
  size_t digits = 0;
  bool leading = true;
  for (char c : mantissa)
    if (is_digit(c) && !(leading && c == '0')) {
      leading = false;
      ++digits;
    }
  if (mantissa.find('.') == std::string::npos) mantissa += '.';
  if (digits == 0) digits = 1;
  if (static_cast<size_t>(precision) > digits) mantissa.append(precision - digits, '0');
  return mantissa + exponent;
}

// The magnitude of a number in the format of its type letter.
std::string float_magnitude(double v, const Spec& spec) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return "inf";
  int precision = spec.precision < 0 ? 6 : spec.precision;
  std::string out;
  switch (spec.type) {
    case 'f':
    case 'F': out = to_text(v, std::chars_format::fixed, precision); break;
    case '%': out = to_text(v * 100, std::chars_format::fixed, precision); break;
    case 'e':
    case 'E': out = to_text(v, std::chars_format::scientific, precision); break;
    default:
      precision = std::max(precision, 1);
      out = to_text(v, std::chars_format::general, precision);
      if (spec.alternate) return with_trailing_zeros(std::move(out), precision);
      // Python's precision without a type is 'g', but a float still looks like one.
      if (!spec.type && out.find_first_of(".e") == std::string::npos) out += ".0";
      return out;
  }
  if (spec.alternate && precision == 0) out.insert(std::min(out.find('e'), out.size()), ".");
  return spec.type == '%' ? out + "%" : out;
}

std::string upper(std::string s) {
  for (char& c : s)
    if (c >= 'a' && c <= 'z') c -= 'a' - 'A';
  return s;
}

std::string int_magnitude(uint64_t v, const Spec& spec) {
  int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  char buf[64];
  auto r = std::to_chars(buf, buf + sizeof buf, v, base);
  std::string digits(buf, r.ptr);
  return spec.type == 'X' ? upper(std::move(digits)) : digits;
}

bool is_other_base(const Spec& spec) {
  return spec.type && std::string_view("xXob").find(spec.type) != std::string_view::npos;
}

// Groups the digits before the point by three, in other bases by four, with leading zeros up to `width`.
std::string grouped(const std::string& magnitude, const Spec& spec, int64_t width) {
  char separator = spec.grouping;
  int64_t size = is_other_base(spec) ? 4 : 3;
  size_t n = is_other_base(spec) ? magnitude.size() : 0;
  while (n < magnitude.size() && is_digit(magnitude[n]))
    ++n;
  std::string digits = magnitude.substr(0, n), rest = magnitude.substr(n);
  if (n == 0) return magnitude;
  auto separators = [&](int64_t count) { return separator ? (count - 1) / size : 0; };
  int64_t count = n, fixed = rest.size();
  while (count + separators(count) + fixed < width)
    ++count;
  digits.insert(0, count - n, '0');
  std::string out;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && separator && (count - i) % size == 0) out += separator;
    out += digits[i];
  }
  return out + rest;
}

std::string padded(std::string text, const Spec& spec, char align) {
  if (text.find('\n') != std::string::npos) return text;
  // As in Python, a width counts code points, not terminal columns.
  int64_t missing = spec.width - std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  if (missing <= 0) return text;
  int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  for (int64_t i = 0; i < left; ++i)
    out += spec.fill;
  out += text;
  for (int64_t i = left; i < missing; ++i)
    out += spec.fill;
  return out;
}

std::string number_text(bool negative, const std::string& prefix, std::string magnitude, const Spec& spec) {
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  char align = spec.align ? spec.align : '>';
  bool zeros = align == '=' && spec.fill == "0";
  int64_t room = spec.width - static_cast<int64_t>(sign.size() + prefix.size());
  magnitude = grouped(magnitude, spec, zeros ? room : 0);
  if (align != '=') return padded(sign + prefix + magnitude, spec, align);
  Spec inner = spec;
  inner.width = static_cast<int>(std::max<int64_t>(room, 0));
  return sign + prefix + padded(magnitude, inner, '>');
}

std::string int_text(int64_t v, const Spec& spec) {
  uint64_t magnitude = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  bool has_prefix = spec.alternate && is_other_base(spec);
  return number_text(v < 0, has_prefix ? std::string("0") + spec.type : "", int_magnitude(magnitude, spec), spec);
}

std::string float_format(double v, const Spec& spec) {
  std::string magnitude = float_magnitude(std::fabs(v), spec);
  if (spec.type == 'E' || spec.type == 'G') magnitude = upper(std::move(magnitude));
  return number_text(std::signbit(v) && !std::isnan(v), "", std::move(magnitude), spec);
}

// The default rendering: numbers right-aligned and with their sign rule, all else left-aligned.
std::string plain(const Value& v, const Spec& spec) {
  std::string text = render(v);
  bool scalar_tensor = v.is_tensor() && v.as_tensor().rank() == 0 && v.as_tensor().dtype != DType::Bool;
  if (v.is_number() || scalar_tensor) {
    bool negative = text[0] == '-';
    return number_text(negative, "", text.substr(negative), spec);
  }
  if (v.is_string() && spec.precision >= 0 && (!spec.type || spec.type == 's')) {
    size_t end = 0;
    for (int i = 0; i < spec.precision && end < text.size(); ++i)
      end += utf8_length(text[end]);
    text.resize(std::min(end, text.size()));
  }
  return padded(std::move(text), spec, spec.align && spec.align != '=' ? spec.align : '<');
}

bool is_int_type(char type) { return type == 'd' || type == 'x' || type == 'X' || type == 'o' || type == 'b'; }

std::string format_value(const Value& v, const Spec& spec) {
  if (v.is_traced()) {
    Value now = v.as_traced()->concrete();
    return now.is_nil() ? plain(v, spec) : format_value(now, spec);
  }
  const Tensor* t = v.is_tensor() && v.as_tensor().num_elems() > 0 ? &v.as_tensor() : nullptr;
  if (is_int_type(spec.type)) {
    if (v.is_int()) return int_text(v.as_int(), spec);
    if (t && t->rank() == 0 && is_int(t->dtype)) return int_text(element_as_int(*t, 0), spec);
    bool scalar = v.is_float() || (t && t->rank() == 0 && is_float(t->dtype));
    double x = scalar ? (t ? element_as_double(*t, 0) : v.as_float()) : 0;
    if (scalar && x == std::trunc(x) && std::fabs(x) < 0x1p63) return int_text(static_cast<int64_t>(x), spec);
    return plain(v, spec);
  }
  bool as_float = spec.type ? spec.type != 's' : spec.precision >= 0 && !v.is_int();
  if (as_float && v.is_number()) return float_format(v.is_int() ? static_cast<double>(v.as_int()) : v.as_float(), spec);
  if (as_float && t && (spec.type || t->rank() == 0)) return float_format(element_as_double(*t, 0), spec);
  return plain(v, spec);
}

// `{body}`: the specification follows the first colon; ".2f" is also accepted without one, and other text is ignored.
std::string format_field(std::string_view body, const Value& v) {
  size_t colon = body.find(':');
  if (colon != std::string_view::npos)
    body.remove_prefix(colon + 1);
  else if (!body.starts_with('.'))
    return render(v);
  std::optional<Spec> spec = parse_spec(body);
  return spec ? format_value(v, *spec) : render(v);
}

}  // namespace

bool looks_like_format(std::string_view text) {
  return text.find("{}") != std::string_view::npos || text.find("{:") != std::string_view::npos;
}

namespace {

// Calls text(c) for each character outside fields and field(body) for each field, in order.
template <class Text, class Field>
void walk_format(std::string_view format, const Text& text, const Field& field) {
  for (size_t i = 0; i < format.size(); ++i) {
    char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      text(c);
      ++i;
      continue;
    }
    size_t close = c == '{' ? format.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      text(c);
      continue;
    }
    field(format.substr(i + 1, close - i - 1));
    i = close;
  }
}

}  // namespace

size_t count_fields(std::string_view format) {
  size_t n = 0;
  walk_format(format, [](char) {}, [&](std::string_view) { ++n; });
  return n;
}

std::string format_text(std::string_view format, const std::vector<Value>& values) {
  std::string out;
  size_t next = 0;
  walk_format(
      format, [&](char c) { out += c; },
      [&](std::string_view body) { out += next < values.size() ? format_field(body, values[next++]) : "{}"; });
  return out;
}

}  // namespace sheaf

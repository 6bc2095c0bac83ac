#include <charconv>
#include <cmath>

#include "value/print_parts.h"

namespace sheaf::printing {
namespace {

// The decimal points (below) of the smallest and the largest number of f32.
constexpr int kLeastPoint = -44, kMostPoint = 39;

// A finite non-zero number as 0.DIGITS * 10^point; no trailing zeros.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 0;
};

// Parses "-d.ddde+XX", the output of std::to_chars.
Decimal parse_scientific(const char* begin, const char* end) {
  Decimal out;
  const char* p = begin;
  if (*p == '-') {
    out.negative = true;
    ++p;
  }
  for (; p != end && *p != 'e'; ++p)
    if (*p != '.') out.digits += *p;
  int exponent = 0;
  ++p;
  if (*p == '+') ++p;
  std::from_chars(p, end, exponent);
  while (out.digits.size() > 1 && out.digits.back() == '0')
    out.digits.pop_back();
  out.point = exponent + 1;
  return out;
}

template <class T>
Decimal shortest_native(T v) {
  char buf[64];
  auto r = std::to_chars(buf, buf + sizeof buf, v, std::chars_format::scientific);
  return parse_scientific(buf, r.ptr);
}

Decimal rounded(double v, int digits) {
  char buf[128];
  auto r = std::to_chars(buf, buf + sizeof buf, v, std::chars_format::scientific, digits - 1);
  return parse_scientific(buf, r.ptr);
}

std::string positional(const Decimal& d) {
  std::string out = d.negative ? "-" : "";
  int n = static_cast<int>(d.digits.size());
  if (d.point <= 0) return out + "0." + std::string(-d.point, '0') + d.digits;
  if (d.point >= n) return out + d.digits + std::string(d.point - n, '0');
  return out + d.digits.substr(0, d.point) + "." + d.digits.substr(d.point);
}

std::string scientific(const Decimal& d) {
  std::string out = (d.negative ? "-" : "") + d.digits.substr(0, 1);
  if (d.digits.size() > 1) out += "." + d.digits.substr(1);
  return out + "e" + std::to_string(d.point - 1);
}

uint16_t to_half(DType d, float x) { return d == DType::BF16 ? f32_to_bf16(x) : f32_to_f16(x); }

float read_back(const Decimal& d) {
  std::string text = (d.negative ? "-." : ".") + d.digits + "e" + std::to_string(d.point);
  return std::strtof(text.c_str(), nullptr);
}

// The neighbour away from zero in the last decimal place.
Decimal away_from_zero(Decimal d) {
  size_t i = d.digits.size();
  while (i > 0 && d.digits[i - 1] == '9')
    d.digits[--i] = '0';
  if (i > 0) {
    ++d.digits[i - 1];
  } else {
    d.digits.insert(0, "1");
    ++d.point;
  }
  return d;
}

// The 16-bit formats have no library routine. Below a power of two the spacing halves, so there the nearest decimal may
// not read back while its neighbour away from zero does.
Decimal shortest_half(double v, DType d) {
  uint16_t want = to_half(d, static_cast<float>(v));
  for (int digits = 1;; ++digits) {
    Decimal near = rounded(v, digits);
    if (digits >= 9 || to_half(d, read_back(near)) == want) return near;
    Decimal padded = near;
    padded.digits.resize(digits, '0');
    Decimal next = away_from_zero(padded);
    if (to_half(d, read_back(next)) == want) return next;
  }
}

Decimal shortest(double v, DType d) {
  if (d == DType::F64) return shortest_native(v);
  if (d == DType::F32) return shortest_native(static_cast<float>(v));
  return shortest_half(v, d);
}

}  // namespace

std::string decimal_text(double v, DType d, std::string_view integral_suffix, int precision) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  // Compared in the number's own type: the literal 1e15, which f32 rounds down, is not below 1e15.
  bool small = d == DType::F64 ? std::fabs(v) < 1e15 : std::fabs(static_cast<float>(v)) < 1e15f;
  if (v == std::trunc(v) && small) return std::to_string(static_cast<int64_t>(v)).append(integral_suffix);
  Decimal dec = shortest(v, d);
  // Rounds only digits after the point: 12345.678 at 4 digits is 12346, not 12350.
  int keep = std::max(precision, dec.point);
  if (precision > 0 && static_cast<int>(dec.digits.size()) > keep) dec = rounded(v, keep);
  // Numbers beyond the range of f32 would print hundreds of zeros.
  if (d == DType::F64 && (dec.point < kLeastPoint || dec.point > kMostPoint)) return scientific(dec);
  std::string text = positional(dec);
  bool lost_fraction = precision > 0 && small && text.find('.') == std::string::npos;
  return lost_fraction ? text.append(integral_suffix) : text;
}

}  // namespace sheaf::printing

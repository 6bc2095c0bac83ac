#include "tensor/element_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "support/scanner.h"
#include "tensor/tensor.h"

namespace sheaf {
namespace {

uint64_t bits_of(DType d, const std::byte* p) {
  uint64_t bits = 0;
  std::memcpy(&bits, p, size_bytes(d));  // the machines this runs on are little-endian
  return bits;
}

int64_t integer_at(DType d, const std::byte* p) {
  uint64_t bits = bits_of(d, p);
  switch (d) {
    case DType::I32: return static_cast<int32_t>(bits);
    case DType::I16: return static_cast<int16_t>(bits);
    case DType::I8: return static_cast<int8_t>(bits);
    default: return static_cast<int64_t>(bits);
  }
}

}  // namespace

std::string exact_text(DType d, const std::byte* p) {
  if (d == DType::Bool) return bits_of(d, p) ? "true" : "false";
  if (is_complex(d)) return exact_text(DType::F32, p) + 'j' + exact_text(DType::F32, p + sizeof(float));
  if (!is_float(d)) return std::to_string(integer_at(d, p));
  double x = load_double(d, p);
  if (std::isnan(x)) return fmt::format("nan:{:#x}", bits_of(d, p));
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  return fmt::format("{:a}", x);
}

bool parse_exact(DType d, std::string_view text, std::byte* out) {
  if (is_complex(d)) {
    const size_t j = std::min(text.find('j'), text.size());
    return parse_exact(DType::F32, text.substr(0, j), out) &&
           parse_exact(DType::F32, text.substr(std::min(j + 1, text.size())), out + sizeof(float));
  }
  uint64_t bits = 0;
  const char* last = text.data() + text.size();
  if (d == DType::Bool) {
    if (text != "true" && text != "false") return false;
    bits = text == "true";
  } else if (text.starts_with("nan:0x")) {
    auto [end, error] = std::from_chars(text.data() + 6, last, bits, 16);
    if (!is_float(d) || error != std::errc() || end != last) return false;
  } else if (is_float(d)) {
    std::string s(text);
    char* end = nullptr;
    double x = std::strtod(s.c_str(), &end);
    if (end != s.c_str() + s.size() || s.empty()) return false;
    store_double(d, out, x);
    return true;
  } else {
    int64_t x = 0;
    auto [end, error] = std::from_chars(text.data(), last, x);
    if (error != std::errc() || end != last) return false;
    bits = static_cast<uint64_t>(x);
  }
  std::memcpy(out, &bits, size_bytes(d));
  return true;
}

DType scan_dtype(Scanner& s) {
  std::string_view name = s.word();
  auto d = dtype_from_name(name);
  if (!d) s.fail(fmt::format("unknown dtype {}", name));
  return *d;
}

Size scan_size(Scanner& s) {
  for (bool least : {true, false}) {
    if (!s.accept(least ? "min(" : "max(")) continue;
    Size a = scan_size(s);
    s.expect(",");
    Size b = scan_size(s);
    s.expect(")");
    return least ? min(a, b) : max(a, b);
  }
  if (s.accept("(")) {
    Size a = scan_size(s), r;
    if (s.accept("//"))
      r = floor_div(a, scan_size(s));
    else if (s.accept("%"))
      r = mod(a, scan_size(s));
    else if (s.accept("+"))
      r = a + scan_size(s);
    else if (s.accept("*"))
      r = a * scan_size(s);
    else
      s.fail("expected + * // or %");
    s.expect(")");
    return r;
  }
  s.skip_blanks();
  if (s.accept_adjacent('s')) return Size::symbol(static_cast<uint32_t>(s.integer()));
  return Size(s.integer());
}

}  // namespace sheaf

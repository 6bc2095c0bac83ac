#include "support/utf8.h"

#include <cstdint>
#include <cstring>

namespace sheaf {
namespace {

// The range of the byte after a lead byte; later bytes are 80…BF. Empty: not a lead byte.
struct Second {
  unsigned char low, high;
  int more;  // number of continuation bytes
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

}  // namespace

MeasuredChar measure_char(std::string_view s) {
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

size_t valid_prefix(std::string_view s) {
  size_t at = 0;
  while (at < s.size()) {
    uint64_t eight;
    if (at + 8 <= s.size() && (std::memcpy(&eight, s.data() + at, 8), (eight & 0x8080808080808080) == 0)) {
      at += 8;
      continue;
    }
    auto [n, whole] = measure_char(s.substr(at));
    if (!whole) return at;
    at += n;
  }
  return at;
}

}  // namespace sheaf

#include "formats/picture.h"

#include <algorithm>
#include <cmath>

namespace sheaf::formats {

std::string picture_bytes(const Tensor& t) {
  Tensor c = contiguous(t);
  auto count = static_cast<size_t>(c.num_elems());
  const std::byte* from = c.bytes();
  if (c.dtype == DType::U8) return {reinterpret_cast<const char*>(from), count};
  std::string out(count, '\0');
  for (char& to : out) {
    double x = load_double(c.dtype, from);
    to = static_cast<char>(static_cast<uint8_t>(std::lround(255 * std::clamp(std::isnan(x) ? 0.0 : x, 0.0, 1.0))));
    from += size_bytes(c.dtype);
  }
  return out;
}

}  // namespace sheaf::formats

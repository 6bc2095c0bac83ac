#include "support/display_width.h"

#include <utf8proc.h>

namespace sheaf {

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  auto* p = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_iterate(p, left, &c);
    width += n > 0 ? utf8proc_charwidth(c) : 1;
    if (n <= 0) n = 1;
    p += n;
    left -= n;
  }
  return width;
}

}  // namespace sheaf

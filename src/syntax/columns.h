// Widths of text in code points, the unit of columns everywhere.
#pragma once
#include <algorithm>
#include <string_view>

namespace sheaf::syntax {

inline int code_points(std::string_view s) {
  return static_cast<int>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace sheaf::syntax

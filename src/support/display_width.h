// The number of terminal columns of UTF-8 text: two for a wide character, none for a combining one; an invalid byte
// counts as one.
#pragma once
#include <cstdint>
#include <string_view>

namespace sheaf {

int64_t display_width(std::string_view text);

}  // namespace sheaf

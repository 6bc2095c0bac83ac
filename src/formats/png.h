// PNG pictures.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

bool is_png(std::string_view bytes);
// [H, W] for grey pictures, [H, W, C] with 2 (grey and alpha), 3 or 4 channels otherwise; u8, or u16 for 16 bits.
Value parse_png(std::string_view bytes);
// [H, W] or [H, W, C]: u8 or u16 unchanged, other numbers are taken as 0 to 1.
std::string write_png(const Value& v);

}  // namespace sheaf::formats

// JPEG pictures, through libjpeg-turbo. A build without that library recognises them and reports that.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

constexpr int kJpegQuality = 90;  // default of a program

bool is_jpeg(std::string_view bytes);
// u8 [H, W] for grey pictures, [H, W, 3] for others; CMYK becomes RGB. Upright: rotated according to the camera's EXIF
// data.
Value parse_jpeg(std::string_view bytes);
// [H, W] or [H, W, 1 or 3]: u8 unchanged, other numbers are taken as 0 to 1. Quality is 1 to 100.
std::string write_jpeg(const Value& v, int quality);

}  // namespace sheaf::formats

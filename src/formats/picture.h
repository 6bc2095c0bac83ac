// Shared by the picture formats.
#pragma once
#include <string>

#include "value/value.h"

namespace sheaf::formats {

// The elements of a picture in order, one byte each: u8 unchanged, other numbers are taken as 0 to 1.
std::string picture_bytes(const Tensor& t);

}  // namespace sheaf::formats

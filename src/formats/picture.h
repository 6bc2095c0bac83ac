// What the formats of pictures have in common.
#pragma once
#include <string>

#include "value/value.h"

namespace sheaf::formats {

// The elements of a picture as a byte each, in order: u8 as they are, other numbers are taken as 0 to 1.
std::string picture_bytes(const Tensor& t);

}  // namespace sheaf::formats

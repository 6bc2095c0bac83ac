// NumPy's .npy (one array) and .npz (a zip of them, which loads as a dict).
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

bool is_npy(std::string_view bytes);
Value parse_npy(std::string_view bytes);
Value parse_npz(std::string_view bytes);
std::string write_npy(const Tensor& t);
// A dict of tensors and numbers.
std::string write_npz(const Value& v);

}  // namespace sheaf::formats

// Rows of numbers that programs hand over to be shown or logged.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// A list, tuple or tensor of numbers, or one number; nil counts as missing (NaN).
std::vector<double> series_of(const Value& v, std::string_view who);
// A number for reading: four significant digits, integers as they are.
std::string short_number(double x);

}  // namespace sheaf::builtins

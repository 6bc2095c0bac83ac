// Sequences of numbers that programs pass on for display or logging.
#pragma once
#include <string>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// A list, tuple or tensor of numbers, or one number; nil counts as missing (NaN).
std::vector<double> series_of(const Value& v, std::string_view who);
// A number for display: four significant digits, integers in full.
std::string short_number(double x);

}  // namespace sheaf::builtins

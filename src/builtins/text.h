// Text of values and values of text, for the families that need them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// A string itself, anything else as print shows it.
std::string text_of(const Value& v);

// The texts of the parts one after the other. The parts are used up.
Value joined_text(std::vector<Value>& parts);

// The whole text as a number, with an optional sign and spaces around; nullopt when it is none or does not fit.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_float(std::string_view text);

}  // namespace sheaf::builtins

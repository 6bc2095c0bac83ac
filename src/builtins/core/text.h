// Conversions between values and text, for the families that need them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value/value.h"

namespace sheaf::builtins {

// The code point at the start of a non-empty text and its length; a byte that is not UTF-8 gives -1 and length 1.
std::pair<int32_t, size_t> next_char(std::string_view s);
// Strips white space at both ends.
std::string_view trimmed(std::string_view s);

// A string unchanged, any other value as print shows it.
std::string text_of(const Value& v);

// Concatenates the texts of the parts. Moves from the parts.
Value joined_text(std::vector<Value>& parts);

// Parses the whole text as a number, with an optional sign and surrounding spaces; nullopt if it is not one or does not
// fit.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_float(std::string_view text);

}  // namespace sheaf::builtins

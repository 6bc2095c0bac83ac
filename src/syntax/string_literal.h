// Unescapes the text between the quotes of a string, and escapes it again. Bytes that are not UTF-8 pass unchanged.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sheaf::syntax {

// An unknown escape; `begin` and `end` are offsets into the escaped text.
struct BadEscape {
  size_t begin = 0, end = 0;
  std::string message;
};

// The string that `written` denotes. Reports a bad escape and omits it.
std::string unescape(std::string_view written, const std::function<void(const BadEscape&)>& report);

// The escapes of the language, for messages.
std::string known_escapes();

// `text` in quotes, in readable syntax; control characters become escapes.
std::string quoted_text(std::string_view text);

}  // namespace sheaf::syntax

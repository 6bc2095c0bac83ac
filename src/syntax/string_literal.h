// The text between the quotes of a string, and back. Bytes that are not UTF-8 pass as they are.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sheaf::syntax {

// An escape that means nothing; `begin` and `end` are offsets into the text that was unescaped.
struct BadEscape {
  size_t begin = 0, end = 0;
  std::string message;
};

// The string that `written` stands for. A bad escape is reported and left out.
std::string unescape(std::string_view written, const std::function<void(const BadEscape&)>& report);

// The escapes of the language, for messages.
std::string known_escapes();

// `text` between quotes, so that it reads back; control characters become escapes.
std::string quoted_text(std::string_view text);

}  // namespace sheaf::syntax

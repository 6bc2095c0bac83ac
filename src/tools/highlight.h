// Syntax highlighting at the prompt.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tools {

enum class Style : uint8_t { Plain, Comment, String, Number, Keyword, Special, Function, Match, Error };

// The escape sequence that switches to a style.
std::string_view style_code(Style s);

enum class NameKind : uint8_t { Unknown, Special, Function };

// One style per byte. Highlights the bracket at the cursor (or before it) and its partner.
std::vector<Style> highlight(const std::string& text, size_t cursor,
                             const std::function<NameKind(std::string_view)>& kind_of);

// The column (in bytes of its line) for a new line at the end of `text`.
size_t indent_after(std::string_view text);

}  // namespace sheaf::tools

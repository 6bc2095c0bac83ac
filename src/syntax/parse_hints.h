// The hints of parse errors: guesses from the text's layout about where a bracket is missing or superfluous. All take
// linear time and run only once an error is certain.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "syntax/form.h"

namespace sheaf::syntax {

// A bracket that was still open at the error.
struct OpenBracket {
  std::string_view opener;  // "(", "[", "{" or "#("
  std::string head;         // first element if that is a symbol, else "..."
  uint32_t begin = 0;
  std::vector<uint32_t> item_begins;  // where each element read so far starts
  size_t depth = 0;                   // number of open brackets, this one included
};

std::vector<std::string> unclosed_hints(std::string_view text, const OpenBracket& innermost);
std::string mismatch_hint(std::string_view text, const OpenBracket& innermost);
// `at` is the offset of a closer without an opener.
std::vector<std::string> stray_closer_hints(std::string_view text, uint32_t at);

}  // namespace sheaf::syntax

// The hints that come with parse errors: guesses, from the layout of the text, about where a bracket is missing or too
// many. All are linear in the text and only computed once an error is certain.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "syntax/form.h"

namespace sheaf::syntax {

// A bracket that was still open when the error arose.
struct OpenBracket {
  std::string_view opener;  // "(", "[", "{" or "#("
  std::string head;         // first element if that is a symbol, else "..."
  uint32_t begin = 0;
  std::vector<uint32_t> item_begins;  // where the elements read so far start
  size_t depth = 0;                   // brackets open, this one included
};

std::vector<std::string> unclosed_hints(std::string_view text, const OpenBracket& innermost);
std::string mismatch_hint(std::string_view text, const OpenBracket& innermost);
// `at` is the offset of a closer with nothing open.
std::vector<std::string> stray_closer_hints(std::string_view text, uint32_t at);

}  // namespace sheaf::syntax

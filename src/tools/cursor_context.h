// The syntactic context of the cursor in an entry: a string, a comment, or the argument of a call. Works on tokens
// only, so it handles incomplete entries.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tools {

struct CursorContext {
  enum class Place : uint8_t { Code, String, Comment };
  Place place = Place::Code;
  size_t word = 0;       // start of the word before the cursor; in a string, start of its text
  std::string call;      // the head of the innermost call around the cursor; "" at the top level and in quoted data
  bool at_head = false;  // the word is the head of a call
  bool in_dict = false;  // the cursor is inside a dict within the call
};

CursorContext context_at(std::string_view text, size_t cursor);

// The symbols or, with `keywords`, the keywords of a text, except the word that ends at `cursor`.
std::vector<std::string> atoms_of(std::string_view text, size_t cursor, bool keywords);

}  // namespace sheaf::tools

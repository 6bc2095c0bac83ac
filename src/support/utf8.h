// UTF-8 validation. Pure functions; any thread.
#pragma once
#include <cstddef>
#include <string_view>

namespace sheaf {

struct MeasuredChar {
  size_t num_bytes;
  bool is_whole;
};
// The character at the start of a non-empty text; of an invalid one, its valid prefix (at least one byte).
MeasuredChar measure_char(std::string_view bytes);

// The number of leading bytes that are valid UTF-8.
size_t valid_prefix(std::string_view bytes);
inline bool is_utf8(std::string_view bytes) { return valid_prefix(bytes) == bytes.size(); }

}  // namespace sheaf

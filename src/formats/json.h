// JSON text to values and back (built-ins specification §13.1).
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

struct JsonOptions {
  // True, used by `io` to save: keywords, tuples and tensors are written as {"__keyword":…}, {"__tuple":…},
  // {"__tensor":…} and read back as such; floats are written as exact doubles. False, for `json-str` and `json-read`
  // and other programs: keywords are strings, tuples and tensors arrays, floats have the fewest digits.
  bool tagged = true;
};

inline constexpr int kMaxJsonDepth = 1000;

Value parse_json(std::string_view text, const JsonOptions& options = {});
std::string write_json(const Value& v, const JsonOptions& options = {});

// JSON lines: one value per line, untagged, to and from a list; skips empty lines.
Value parse_json_lines(std::string_view text);
std::string write_json_lines(const Value& v);

}  // namespace sheaf::formats

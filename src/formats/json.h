// JSON text to values and back (built-ins specification §13.1).
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

struct JsonOptions {
  // True, as `io` saves: keywords, tuples and tensors travel as {"__keyword":…}, {"__tuple":…}, {"__tensor":…} and come
  // back as what they were; floats are written as exact doubles. False, as `json-str` writes and `json-read` reads for
  // other programs: keywords are strings, tuples and tensors arrays, floats have the fewest digits.
  bool tagged = true;
};

inline constexpr int kMaxJsonDepth = 1000;

Value parse_json(std::string_view text, const JsonOptions& options = {});
std::string write_json(const Value& v, const JsonOptions& options = {});

// One value per line, untagged; empty lines are skipped. A list back and forth.
Value parse_json_lines(std::string_view text);
std::string write_json_lines(const Value& v);

}  // namespace sheaf::formats

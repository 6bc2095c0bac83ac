#include "formats/json.h"
#include "support/error.h"
#include "value/print.h"

namespace sheaf::formats {

Value parse_json_lines(std::string_view text) {
  std::vector<Value> items;
  for (int64_t line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      items.push_back(parse_json(row, {.tagged = false}));
    } catch (UserError& e) {
      e.message = "line " + std::to_string(line) + ": " + e.message;
      throw;
    }
  }
  return Value::list(std::move(items));
}

std::string write_json_lines(const Value& v) {
  if (!v.is_seq()) throw runtime_error("JSON lines hold a list, not " + std::string(type_name(v)));
  std::string out;
  for (const Value& x : v.items())
    out += write_json(x, {.tagged = false}) + '\n';
  return out;
}

}  // namespace sheaf::formats

#include "support/wrap.h"

#include <algorithm>

#include "support/display_width.h"

namespace sheaf {
namespace {

constexpr int64_t kLeastRoom = 20;  // columns; wrapping to less helps nobody

// The last space with at most `room` columns before it, else the first space. npos if there is none.
size_t place_to_cut(std::string_view line, int64_t room) {
  size_t cut = line.find(' ');
  for (size_t at = cut; at != std::string_view::npos; at = line.find(' ', at + 1)) {
    if (display_width(line.substr(0, at)) > room) break;
    cut = at;
  }
  return cut;
}

}  // namespace

std::string wrapped(std::string_view text, int64_t columns, int64_t hanging) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    const std::string deeper = indent + std::string(static_cast<size_t>(hanging), ' ');
    line.remove_prefix(indent.size());
    for (;;) {
      int64_t room = columns - static_cast<int64_t>(indent.size());
      size_t cut = room >= kLeastRoom && display_width(line) > room ? place_to_cut(line, room) : std::string_view::npos;
      if (cut == std::string_view::npos) break;
      out += indent + std::string(line.substr(0, cut)) + "\n";
      line.remove_prefix(cut + 1);
      indent = deeper;
    }
    out += (line.empty() ? "" : indent) + std::string(line) + "\n";
  }
  return out;
}

}  // namespace sheaf

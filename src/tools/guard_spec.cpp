#include "tools/guard_spec.h"

#include <charconv>
#include <span>
#include <vector>

namespace sheaf::tools {
namespace {

using builtins::GuardCheck;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t colon; (colon = text.find(':', at)) != std::string::npos; at = colon + 1)
    parts.push_back(text.substr(at, colon - at));
  parts.push_back(text.substr(at));
  return parts;
}

template <class T>
bool parse_number(const std::string& text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<GuardCheck> parse_check(std::span<const std::string> parts) {
  GuardCheck check;
  if (parts.empty()) return std::nullopt;
  if (parts[0] == "no-nan" && parts.size() == 1) return check;
  if (parts[0] == "range" && parts.size() == 3) {
    check.kind = GuardCheck::Range;
    if (!parse_number(parts[1], check.lo) || !parse_number(parts[2], check.hi) || check.lo > check.hi)
      return std::nullopt;
    return check;
  }
  if (parts[0] == "shape") {
    check.kind = GuardCheck::Shape;
    for (const std::string& dim : parts.subspan(1)) {
      int64_t n = 0;
      if (!parse_number(dim, n) || n < 0) return std::nullopt;
      check.dims.push_back(n);
    }
    return check;
  }
  return std::nullopt;
}

}  // namespace

std::optional<GuardSpec> parse_guard_spec(const std::string& text) {
  std::vector<std::string> parts = split(text);
  std::span<const std::string> all(parts);
  if (auto check = parse_check(all)) return GuardSpec{"", *check};
  if (parts.size() < 2 || parts[0].empty()) return std::nullopt;
  if (auto check = parse_check(all.subspan(1))) return GuardSpec{parts[0], *check};
  return std::nullopt;
}

}  // namespace sheaf::tools

#include "graph/attrs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tensor/element_text.h"

namespace sheaf::graph {
namespace {

uint64_t mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x9E3779B97F4A7C15ull + (h >> 29); }

uint64_t hash_value(const AttrValue& v) {
  return std::visit(
      [](const auto& x) -> uint64_t {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Sizes>) {
          uint64_t h = x.size();
          for (Size s : x)
            h = mix(h, s.hash());
          return h;
        } else if constexpr (std::is_same_v<T, DType>) {
          return static_cast<uint64_t>(x);
        } else {
          return std::hash<T>()(x);
        }
      },
      v);
}

std::string quoted(const std::string& text) {
  std::string s = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c == '\n' ? "\\n" : std::string(1, c);
  }
  return s + "\"";
}

std::string text(const AttrValue& v) {
  return std::visit(
      [](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Sizes>)
          return shape_text(x);
        else if constexpr (std::is_same_v<T, DType>)
          return std::string(name_of(x));
        else if constexpr (std::is_same_v<T, std::string>)
          return quoted(x);
        else if constexpr (std::is_same_v<T, double>)
          return exact_text(DType::F64, reinterpret_cast<const std::byte*>(&x));
        else
          return fmt::format("{}", x);
      },
      v);
}

}  // namespace

void Attrs::add(const char* key, AttrValue value) {
  if (!shared_ || !shared_->unique()) shared_ = make_ref<Shared>(items());
  shared_->items.emplace_back(key, std::move(value));
}

uint64_t Attrs::hash() const {
  uint64_t h = 17;
  for (const auto& [k, v] : items())
    h = mix(mix(h, hash_value(v)), v.index());
  return h;
}

bool operator==(const Attrs& a, const Attrs& b) {
  if (a.shared_ == b.shared_) return true;
  const Attrs::Items &x = a.items(), &y = b.items();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    return std::strcmp(p.first, q.first) == 0 && p.second == q.second;
  });
}

std::string Attrs::str() const {
  if (empty()) return "";
  std::string s = "{";
  for (const auto& [key, value] : items())
    s += (s.size() > 1 ? ", " : "") + std::string(key) + "=" + text(value);
  return s + "}";
}

}  // namespace sheaf::graph

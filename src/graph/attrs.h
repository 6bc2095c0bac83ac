// Static attributes of a node: axes, sizes, dtypes, names. Data are inputs, never attributes.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/ref.h"
#include "tensor/dtype.h"
#include "tensor/size.h"

namespace sheaf::graph {

using AttrValue = std::variant<int64_t, bool, double, std::string, DType, Sizes>;

// Copy on write: copies share the attributes until one of them adds another.
class Attrs {
 public:
  using Items = std::vector<std::pair<const char*, AttrValue>>;
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<const char*, AttrValue>> l)
      : shared_(l.size() ? make_ref<Shared>(Items(l)) : nullptr) {}
  // Keys are string literals; few per node, so a linear search is the fastest.
  template <class T>
  const T& get(std::string_view key) const {
    const AttrValue* v = find(key);
    INVARIANT(v, "attribute " << key << " is missing");
    return std::get<T>(*v);
  }
  int64_t integer(std::string_view key) const { return get<int64_t>(key); }
  bool flag(std::string_view key) const {
    const AttrValue* v = find(key);
    return v && std::get<bool>(*v);
  }
  const Sizes& sizes(std::string_view key) const { return get<Sizes>(key); }
  const AttrValue* find(std::string_view key) const {
    for (const auto& [k, v] : items())
      if (k == key) return &v;
    return nullptr;
  }
  // `key` must live as long as the attributes.
  void add(const char* key, AttrValue value);
  bool empty() const { return !shared_; }
  const Items& items() const {
    static const Items none;
    return shared_ ? shared_->items : none;
  }
  uint64_t hash() const;
  std::string str() const;  // "{axes=[1], keepdims=true}", "" when empty
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  struct Shared : Counted {
    explicit Shared(Items i) : items(std::move(i)) {}
    Items items;
  };
  Ref<Shared> shared_;  // null: none
};

}  // namespace sheaf::graph

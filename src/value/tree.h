// Trees of lists, tuples and dicts: the same structure with other leaves.
#pragma once
#include "value/dict.h"

namespace sheaf {

// Every value that is not a list, tuple or dict goes through `leaf`, depth first, dicts in key order.
template <class F>
Value map_leaves(const Value& v, F&& leaf) {
  if (v.is_seq()) {
    std::vector<Value> items;
    items.reserve(v.items().size());
    for (const Value& x : v.items())
      items.push_back(map_leaves(x, leaf));
    return v.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (v.is_dict()) {
    std::vector<DictEntry> entries;
    entries.reserve(v.as_dict().size());
    for (const DictEntry& e : v.as_dict().entries())
      entries.push_back({e.key, map_leaves(e.value, leaf)});
    return make_dict(std::move(entries));
  }
  return leaf(v);
}

}  // namespace sheaf

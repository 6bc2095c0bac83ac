// The template that signature.h declares.
#pragma once
#include "value/dict.h"

namespace sheaf::trace {

template <class F>
Value replace_leaves(const Value& v, F& make) {
  switch (v.tag()) {
    case Tag::Int:
    case Tag::Float:
    case Tag::Tensor: return make(v);
    case Tag::List:
    case Tag::Tuple: {
      std::vector<Value> items;
      items.reserve(v.items().size());
      for (const Value& x : v.items())
        items.push_back(replace_leaves(x, make));
      return v.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
    }
    case Tag::Dict: {
      std::vector<DictEntry> entries;
      for (const DictEntry& e : v.as_dict().entries())
        entries.push_back({e.key, replace_leaves(e.value, make)});
      return make_dict(std::move(entries));
    }
    case Tag::Function: {
      const std::vector<Value>* captured = v.as_function()->captured();
      if (!captured || captured->empty()) return v;
      std::vector<Value> values;
      for (const Value& x : *captured)
        values.push_back(replace_leaves(x, make));
      return v.as_function()->with_captured(std::move(values));
    }
    default: return v;
  }
}

}  // namespace sheaf::trace

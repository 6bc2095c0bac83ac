#include "value/tree.h"

#include <iterator>

namespace sheaf {

bool TreePath::enter(const Value& v, Nodes nodes) {
  switch (v.tag()) {
    case Tag::Tuple:
      if (nodes == Nodes::Lists) return false;
      [[fallthrough]];
    case Tag::List: levels_.push_back({&v, v.items().data(), nullptr, v.items().size(), 0}); return true;
    case Tag::Dict: {
      std::span<const DictEntry> entries = v.as_dict().entries();
      levels_.push_back({&v, nullptr, entries.data(), entries.size(), 0});
      return true;
    }
    case Tag::Function: {
      const std::vector<Value>* captured = nodes == Nodes::Closures ? v.as_function()->captured() : nullptr;
      if (!captured || captured->empty()) return false;
      levels_.push_back({&v, captured->data(), nullptr, captured->size(), 0});
      return true;
    }
    default: return false;
  }
}

const Value* LeafCursor::next() {
  if (root_) {
    const Value* root = std::exchange(root_, nullptr);
    if (!path_.enter(*root, nodes_)) return root;
  }
  while (!path_.empty()) {
    TreePath::Level& l = path_.last();
    if (l.next == l.size) {
      path_.leave();
      continue;
    }
    if (path_.size() > max_depth_) {
      too_deep_ = true;
      return nullptr;
    }
    const Value& part = l.part(l.next++);
    if (!path_.enter(part, nodes_)) return &part;
  }
  return nullptr;
}

std::vector<Value> LeafCursor::steps() const {
  std::vector<Value> out;
  for (const TreePath::Level& l : path_.levels())
    out.push_back(l.entries ? Value::keyword(l.entries[l.next - 1].key)
                            : Value::integer(static_cast<int64_t>(l.next - 1)));
  return out;
}

std::string LeafCursor::path() const {
  std::string out;
  for (const Value& step : steps()) {
    if (!out.empty()) out += '.';
    out += step.is_int() ? std::to_string(step.as_int()) : step.as_keyword().str();
  }
  return out;
}

FlatTree flatten(const Value& tree, Nodes nodes) {
  FlatTree out;
  TreeStructure& s = out.structure;
  auto leaf = [&](const Value& v) {
    out.leaves.push_back(v);
    s.parts_.push_back({Tag::Nil, 0});
  };
  TreePath path;
  if (!path.enter(tree, nodes)) leaf(tree);
  while (!path.empty()) {
    TreePath::Level& l = path.last();
    if (l.next < l.size) {
      const Value& part = l.part(l.next++);
      if (!path.enter(part, nodes)) leaf(part);
      continue;
    }
    const Value& container = *l.container;
    s.parts_.push_back({container.tag(), static_cast<uint32_t>(l.size)});
    if (l.entries)
      for (size_t i = 0; i < l.size; ++i)
        s.keys_.push_back(l.entries[i].key);
    if (container.tag() == Tag::Function) s.closures_.push_back(container);
    path.leave();
  }
  s.num_leaves_ = out.leaves.size();
  return out;
}

Value TreeStructure::build(std::span<Value> leaves) const {
  if (is_leaf()) return std::move(leaves[0]);
  std::vector<Value> made;
  size_t leaf = 0, key = 0, closure = 0;
  for (const Part& p : parts_) {
    if (p.tag == Tag::Nil) {
      made.push_back(std::move(leaves[leaf++]));
      continue;
    }
    auto first = made.end() - static_cast<ptrdiff_t>(p.size);
    Value whole;
    if (p.tag == Tag::Dict) {
      std::vector<DictEntry> entries;
      entries.reserve(p.size);
      for (auto it = first; it != made.end(); ++it)
        entries.push_back({keys_[key++], std::move(*it)});
      whole = make_dict(std::move(entries));
    } else {
      std::vector<Value> parts(std::make_move_iterator(first), std::make_move_iterator(made.end()));
      whole = p.tag == Tag::List    ? Value::list(std::move(parts))
              : p.tag == Tag::Tuple ? Value::tuple(std::move(parts))
                                    : closures_[closure++].as_function()->with_captured(std::move(parts));
    }
    made.erase(first, made.end());
    made.push_back(std::move(whole));
  }
  return std::move(made.back());
}

bool operator==(const TreeStructure& a, const TreeStructure& b) {
  auto code = [](const Value& v) { return v.as_function()->code_number(); };
  return a.parts_ == b.parts_ && a.keys_ == b.keys_ &&
         std::equal(a.closures_.begin(), a.closures_.end(), b.closures_.begin(), b.closures_.end(),
                    [&](const Value& x, const Value& y) { return code(x) == code(y); });
}

}  // namespace sheaf

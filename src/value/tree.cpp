#include "value/tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

std::vector<Value> TreePath::steps() const {
  std::vector<Value> out;
  for (const Level& l : levels_)
    out.push_back(l.entries ? Value::keyword(l.entries[l.next - 1].key)
                            : Value::integer(static_cast<int64_t>(l.next - 1)));
  return out;
}

std::string TreePath::text() const {
  std::string out;
  for (const Level& l : levels_) {
    if (!out.empty()) out += '.';
    out += l.entries ? l.entries[l.next - 1].key.str() : std::to_string(l.next - 1);
  }
  return out;
}

const Value* LeafCursor::next() {
  for (const Value* v = root_ ? std::exchange(root_, nullptr) : path_.next(); v; v = path_.next()) {
    if (path_.size() > max_depth_) {
      too_deep_ = true;
      return nullptr;
    }
    if (!path_.enter(*v, nodes_)) return v;
  }
  return nullptr;
}

namespace {

// Replaces the last `size` values of `made` by a container of them. key(i) is a key of a dict, closure() the function
// whose captured values they are.
template <class Key, class Closure>
void close_container(std::vector<Value>& made, Tag tag, size_t size, Key key, Closure closure) {
  auto first = made.end() - static_cast<ptrdiff_t>(size);
  Value whole;
  if (tag == Tag::Dict) {
    std::vector<DictEntry> entries;
    entries.reserve(size);
    for (size_t i = 0; i < size; ++i)
      entries.push_back({key(i), std::move(first[static_cast<ptrdiff_t>(i)])});
    whole = make_dict(std::move(entries));
  } else {
    std::vector<Value> parts(std::make_move_iterator(first), std::make_move_iterator(made.end()));
    whole = tag == Tag::List    ? Value::list(std::move(parts))
            : tag == Tag::Tuple ? Value::tuple(std::move(parts))
                                : closure().as_function()->with_captured(std::move(parts));
  }
  made.erase(first, made.end());
  made.push_back(std::move(whole));
}

}  // namespace

FlatTree flatten(const Value& tree, Nodes nodes) {
  FlatTree out;
  TreeStructure& s = out.structure;
  TreePath path;
  auto close = [&](const TreePath::Level& l) {
    s.parts_.push_back({l.container->tag(), static_cast<uint32_t>(l.size)});
    if (l.entries)
      for (size_t i = 0; i < l.size; ++i)
        s.keys_.push_back(l.entries[i].key);
    if (l.container->tag() == Tag::Function) s.closures_.push_back(*l.container);
  };
  for (const Value* v = &tree; v; v = path.next(close)) {
    if (path.enter(*v, nodes)) continue;
    out.leaves.push_back(*v);
    s.parts_.push_back({Tag::Nil, 0});
  }
  s.num_leaves_ = out.leaves.size();
  return out;
}

Value TreeStructure::build(std::span<Value> leaves) const {
  if (is_leaf()) return std::move(leaves[0]);
  std::vector<Value> made;
  size_t leaf = 0, key = 0, closure = 0;
  for (const Part& p : parts_) {
    if (p.tag == Tag::Nil)
      made.push_back(std::move(leaves[leaf++]));
    else
      close_container(made, p.tag, p.size, [&](size_t) { return keys_[key++]; }, [&] { return closures_[closure++]; });
  }
  return std::move(made.back());
}

bool operator==(const TreeStructure& a, const TreeStructure& b) {
  auto code = [](const Value& v) { return v.as_function()->code_number(); };
  return a.parts_ == b.parts_ && a.keys_ == b.keys_ &&
         std::equal(a.closures_.begin(), a.closures_.end(), b.closures_.begin(), b.closures_.end(),
                    [&](const Value& x, const Value& y) { return code(x) == code(y); });
}

bool same_container(const Value& a, const Value& b, Nodes nodes) {
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::Tuple:
      if (nodes == Nodes::Lists) return false;
      [[fallthrough]];
    case Tag::List: return a.items().size() == b.items().size();
    case Tag::Dict: {
      auto x = a.as_dict().entries(), y = b.as_dict().entries();
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [](const DictEntry& p, const DictEntry& q) { return p.key == q.key; });
    }
    case Tag::Function: {
      if (nodes != Nodes::Closures) return false;
      const FunctionObj *f = a.as_function(), *g = b.as_function();
      const std::vector<Value>*x = f->captured(), *y = g->captured();
      return f->code_number() == g->code_number() && x && y && x->size() == y->size();
    }
    default: return false;
  }
}

TreeZip::TreeZip(std::span<const Value> trees) : num_trees_(trees.size()) {
  for (const Value& v : trees)
    parts_.push_back(&v);
}

void TreeZip::put(Value v) {
  made_.push_back(std::move(v));
  parts_.resize(parts_.size() - num_trees_);
  advance();
}

void TreeZip::enter(Nodes nodes) {
  if (path_.enter(*parts()[0], nodes))
    advance();
  else
    put(*parts()[0]);
}

void TreeZip::advance() {
  const Value* part = path_.next([&](const TreePath::Level& l) {
    auto key = [&](size_t i) { return l.entries[i].key; };
    close_container(made_, l.container->tag(), l.size, key, [&] { return *l.container; });
    parts_.resize(parts_.size() - num_trees_);
  });
  if (!part) return;
  const TreePath::Level& l = path_.last();
  size_t i = l.next - 1, containers = parts_.size() - num_trees_;
  parts_.push_back(part);
  for (size_t t = 1; t < num_trees_; ++t) {
    const Value& other = *parts_[containers + t];
    if (l.entries)
      parts_.push_back(other.as_dict().find(l.entries[i].key));
    else
      parts_.push_back(other.is_seq() ? &other.items()[i] : &(*other.as_function()->captured())[i]);
  }
}

}  // namespace sheaf

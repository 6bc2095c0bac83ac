// Trees of values: containers (lists, tuples, dicts, and where asked what functions closed over) with leaves in them.
// The one place where trees are taken apart and put together; leaves come depth first, dicts in key order. Data nest
// without limit, so nothing here recurses. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/small_vec.h"
#include "value/dict.h"

namespace sheaf {

// What is a container; everything else is a leaf.
enum class Nodes : uint8_t {
  Lists,      // lists and dicts; a tuple is a leaf
  Sequences,  // tuples too
  Closures,   // and functions that closed over values, which are their parts
};

// The containers around a place in a tree, from the root on; what a walk keeps instead of the machine's stack.
class TreePath {
 public:
  // A container and the part of it that is next.
  struct Level {
    const Value* container;
    const Value* items;        // or
    const DictEntry* entries;  // of a dict
    size_t size, next;
    const Value& part(size_t i) const { return entries ? entries[i].value : items[i]; }
  };
  // False: `v` is a leaf, nothing was added.
  bool enter(const Value& v, Nodes nodes);
  // The part after the one given last. Containers that have no more are left, after left(level) has seen them; nullptr
  // when it was the last of all.
  template <class F>
  const Value* next(F&& left) {
    for (; !levels_.empty(); levels_.pop_back()) {
      Level& l = levels_.back();
      if (l.next < l.size) return &l.part(l.next++);
      left(l);
    }
    return nullptr;
  }
  const Value* next() {
    return next([](const Level&) {});
  }
  bool empty() const { return levels_.empty(); }
  size_t size() const { return levels_.size(); }
  const Level& last() const { return levels_.back(); }
  // The keys and positions that lead to the part given last, with dots between them, as files name them: "layers.0.w".
  std::string text() const;
  // The same as a list: names and positions (ints).
  std::vector<Value> steps() const;

 private:
  SmallVec<Level, 8> levels_;
};

// Goes through the leaves of a tree, which must stay as it is meanwhile.
class LeafCursor {
 public:
  explicit LeafCursor(const Value& tree, Nodes nodes = Nodes::Sequences, size_t max_depth = SIZE_MAX)
      : root_(&tree), nodes_(nodes), max_depth_(max_depth) {}
  explicit LeafCursor(Value&&, Nodes = Nodes::Sequences, size_t = SIZE_MAX) = delete;  // the leaves would be gone
  // nullptr after the last leaf, and where a part lies inside more than `max_depth` containers.
  const Value* next();
  bool too_deep() const { return too_deep_; }
  // Leads to the leaf given last.
  const TreePath& path() const { return path_; }

 private:
  const Value* root_;  // nullptr once it has been entered
  Nodes nodes_;
  size_t max_depth_;
  bool too_deep_ = false;
  TreePath path_;
};

// Calls visit(leaf) for each leaf.
template <class F>
void each_leaf(const Value& tree, F&& visit, Nodes nodes = Nodes::Sequences) {
  LeafCursor leaves(tree, nodes);
  while (const Value* v = leaves.next())
    visit(*v);
}
// Whether test(leaf) holds for all; stops at the first that fails.
template <class F>
bool all_leaves(const Value& tree, F&& test, Nodes nodes = Nodes::Sequences) {
  LeafCursor leaves(tree, nodes);
  while (const Value* v = leaves.next())
    if (!test(*v)) return false;
  return true;
}

// A tree without its leaves. Two are equal when the trees differ in their leaves alone.
class TreeStructure {
 public:
  size_t num_leaves() const { return num_leaves_; }
  bool is_leaf() const { return parts_.size() == 1 && num_leaves_ == 1; }
  // The tree with these leaves, which are used up.
  Value build(std::span<Value> leaves) const;
  friend bool operator==(const TreeStructure& a, const TreeStructure& b);

 private:
  friend struct FlatTree flatten(const Value& tree, Nodes nodes);
  // A container comes after its parts. Nil stands for a leaf.
  struct Part {
    Tag tag;
    uint32_t size;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts_;
  std::vector<Name> keys_;       // of all dicts
  std::vector<Value> closures_;  // functions whose captured values are replaced
  size_t num_leaves_ = 0;
};

struct FlatTree {
  std::vector<Value> leaves;
  TreeStructure structure;
};
FlatTree flatten(const Value& tree, Nodes nodes = Nodes::Sequences);

// The same tree with leaf(v) in place of every leaf v.
template <class F>
Value map_leaves(const Value& tree, F&& leaf, Nodes nodes = Nodes::Sequences) {
  FlatTree flat = flatten(tree, nodes);
  for (Value& v : flat.leaves)
    v = leaf(v);
  return flat.structure.build(flat.leaves);
}

// Whether both are containers and differ in their parts alone.
bool same_container(const Value& a, const Value& b, Nodes nodes);

// Goes through several trees of one structure together and makes one tree of what it is given for each place. The trees
// must stay as they are meanwhile.
class TreeZip {
 public:
  explicit TreeZip(std::span<const Value> trees);
  bool done() const { return parts_.empty(); }
  // What the trees have at this place. Containers come before their parts.
  std::span<const Value* const> parts() const { return std::span(parts_).last(num_trees_); }
  // How many containers it lies in, and where: known as long as the place has not been entered.
  const TreePath& path() const { return path_; }
  // The result has `v` here. On to the next place.
  void put(Value v);
  // The result has a container like that of the first tree here; its parts are the next places. The others must have
  // containers of the same tag, with at least its parts. A function that closed over nothing stays as it is.
  void enter(Nodes nodes);
  Value result() { return std::move(made_.back()); }

 private:
  void advance();
  size_t num_trees_;
  TreePath path_;                    // in the first tree
  std::vector<const Value*> parts_;  // of each container around this place, and last of this place
  std::vector<Value> made_;          // finished parts of containers that are not
};

// The tree that is made of several: at each place visit(parts, path) gives its value, or nothing where the containers
// are to be entered.
template <class F>
Value zip_trees(std::span<const Value> trees, Nodes nodes, F&& visit) {
  TreeZip zip(trees);
  while (!zip.done()) {
    if (std::optional<Value> v = visit(zip.parts(), zip.path()))
      zip.put(std::move(*v));
    else
      zip.enter(nodes);
  }
  return zip.result();
}

}  // namespace sheaf

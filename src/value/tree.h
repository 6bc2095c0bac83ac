// Trees of values: containers (lists, tuples, dicts, optionally functions with captured values) and leaves. All code
// that flattens and rebuilds trees is here; leaves come depth first, dicts in key order. Data nest without limit, so
// nothing here recurses. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/small_vec.h"
#include "value/dict.h"

namespace sheaf {

// Which values are containers; all others are leaves.
enum class Nodes : uint8_t {
  Lists,      // lists and dicts; a tuple is a leaf
  Sequences,  // tuples too
  Closures,   // also functions that captured values, which are their parts
};

// The containers on the way from the root to a position in a tree; the explicit stack of a walk.
class TreePath {
 public:
  // A container and its next part.
  struct Level {
    const Value* container;
    const Value* items;        // or
    const DictEntry* entries;  // of a dict
    size_t size, next;
    const Value& part(size_t i) const { return entries ? entries[i].value : items[i]; }
  };
  // Returns false if `v` is a leaf; nothing was pushed then.
  bool enter(const Value& v, Nodes nodes);
  // The part after the one last returned. Pops finished containers after calling left(level); returns nullptr after the
  // last part of all.
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
  // The path to the part last returned as keys and positions with dots between them, as in files: "layers.0.w".
  std::string text() const;
  // The same as a list of names and positions (ints).
  std::vector<Value> steps() const;

 private:
  SmallVec<Level, 8> levels_;
};

// Iterates over the leaves of a tree, which must not change meanwhile.
class LeafCursor {
 public:
  explicit LeafCursor(const Value& tree, Nodes nodes = Nodes::Sequences, size_t max_depth = SIZE_MAX)
      : root_(&tree), nodes_(nodes), max_depth_(max_depth) {}
  explicit LeafCursor(Value&&, Nodes = Nodes::Sequences, size_t = SIZE_MAX) = delete;  // the leaves would dangle
  // Returns nullptr after the last leaf, and for a part inside more than `max_depth` containers.
  const Value* next();
  bool too_deep() const { return too_deep_; }
  // The path to the leaf last returned.
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
// True if test(leaf) holds for all leaves; stops at the first failure.
template <class F>
bool all_leaves(const Value& tree, F&& test, Nodes nodes = Nodes::Sequences) {
  LeafCursor leaves(tree, nodes);
  while (const Value* v = leaves.next())
    if (!test(*v)) return false;
  return true;
}

// A tree without its leaves. Two structures are equal if their trees differ only in leaves.
class TreeStructure {
 public:
  size_t num_leaves() const { return num_leaves_; }
  bool is_leaf() const { return parts_.size() == 1 && num_leaves_ == 1; }
  // Rebuilds the tree with these leaves; moves from them.
  Value build(std::span<Value> leaves) const;
  friend bool operator==(const TreeStructure& a, const TreeStructure& b);

 private:
  friend struct FlatTree flatten(const Value& tree, Nodes nodes);
  // A container follows its parts. Nil stands for a leaf.
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

// Copies the tree with leaf(v) in place of every leaf v.
template <class F>
Value map_leaves(const Value& tree, F&& leaf, Nodes nodes = Nodes::Sequences) {
  FlatTree flat = flatten(tree, nodes);
  for (Value& v : flat.leaves)
    v = leaf(v);
  return flat.structure.build(flat.leaves);
}

// True if both are containers that differ only in their parts.
bool same_container(const Value& a, const Value& b, Nodes nodes);

// Walks several trees of one structure in parallel and builds a tree from the value given for each position. The trees
// must not change meanwhile.
class TreeZip {
 public:
  explicit TreeZip(std::span<const Value> trees);
  bool done() const { return parts_.empty(); }
  // The parts of all trees at this position. Containers come before their parts.
  std::span<const Value* const> parts() const { return std::span(parts_).last(num_trees_); }
  // The path to this position; valid until the position is entered.
  const TreePath& path() const { return path_; }
  // Puts `v` into the result at this position and moves on.
  void put(Value v);
  // Puts a container like the first tree's into the result at this position and moves on to its parts. The other trees
  // must have containers of the same tag, with at least as many parts. A function without captured values stays
  // unchanged.
  void enter(Nodes nodes);
  Value result() { return std::move(made_.back()); }

 private:
  void advance();
  size_t num_trees_;
  TreePath path_;                    // in the first tree
  std::vector<const Value*> parts_;  // for each open container, its position in all trees; last the current position
  std::vector<Value> made_;          // finished parts of unfinished containers
};

// Builds one tree from several: at each position visit(parts, path) returns the value, or nothing to enter the
// containers.
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

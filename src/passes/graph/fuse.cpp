// The algorithm:
//
// 1. Find for every computing node who uses it, stepping over views that only add or drop axes of size 1 or repeat a
// value
//    along rows. A use is of the whole (one value per element of the user's space), of a row (one value for each row of
//    it), or foreign (the user needs the array in memory).
// 2. Walk from consumers to producers. A node joins the group of its earliest consumer when the space fits and every
// use
//    outside comes after that group's root. So groups ordered by their roots find their inputs ready, without a search
//    for cycles.
#include "passes/graph/fuse.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/node_map.h"
#include "graph/op_def.h"

namespace sheaf::passes {

namespace {

using graph::base_of;
using graph::FusionGroup;
using graph::Node;
using graph::Operand;
using graph::OpKind;
using graph::squeezed;

// A kernel that goes row by row has this many rows at least, or nothing would be left to share between threads; and a
// row is long enough to be worth its own loops when no reduction asks for them.
constexpr int64_t kMinRows = 4;
constexpr int64_t kMinRowOfMap = 32;

// A sum over rows computes the map that it reads only for at least this many rows of at least this many elements.
constexpr int64_t kMinAddedRows = 256, kMinAddedRow = 256;

enum class Level : uint8_t { Whole, Row, Foreign };

// How a value of sizes `inner` appears under `outer`: the same elements, or repeated along the last axis that is not 1.
Level level_of(const Sizes& inner, const Sizes& outer) {
  if (inner.size() > outer.size()) return Level::Foreign;
  size_t pad = outer.size() - inner.size();
  size_t last = outer.size();
  while (last > 0 && outer[last - 1] == Size(1))
    --last;
  bool row = false;
  for (size_t a = 0; a < outer.size(); ++a) {
    Size have = a < pad ? Size(1) : inner[a - pad];
    if (have == outer[a]) continue;
    if (a + 1 != last || !(have == Size(1))) return Level::Foreign;
    row = true;
  }
  return row ? Level::Row : Level::Whole;
}

struct Source {
  Node* node = nullptr;
  Level level = Level::Foreign;
};

// The node whose values a user of sizes `at` reads through `o`, views stepped over as far as the level allows.
Source source_of(const Operand& o, const Sizes& at) {
  if (!o.is_node()) return {};
  Node* n = o.node().get();
  Level level = level_of(n->types[o.index()].sizes, at);
  while (level != Level::Foreign && n->op->view && !n->inputs.empty() && n->inputs[0].is_node()) {
    const Sizes &in = n->inputs[0].node()->types[n->inputs[0].index()].sizes, &out = n->types[0].sizes;
    if (n->op->name == "broadcast") {
      Level step = level_of(in, out);
      if (step == Level::Foreign || (step == Level::Row && level == Level::Row)) return {n, Level::Foreign};
      if (step == Level::Row) level = Level::Row;
    } else if (n->op->name == "reshape" ? !(squeezed(in) == squeezed(out)) : n->op->kind != OpKind::Structure) {
      return {n, Level::Foreign};
    }
    n = n->inputs[0].node().get();
  }
  return {n, level};
}

bool fusable(const Node* n) { return n->op->kind == OpKind::Elementwise || n->op->kind == OpKind::Reduce; }

// The space that the loops of a node run over.
Sizes loop_sizes(const Node* n) { return n->op->kind == OpKind::Reduce ? n->inputs[0].sizes() : n->types[0].sizes; }

bool is_empty(const Sizes& s) {
  return std::any_of(s.begin(), s.end(), [](Size d) { return d == Size(0); });
}

int64_t num_rows(const Sizes& space) {
  int64_t rows = 1;
  for (size_t a = 0; a + 1 < space.size(); ++a)
    rows *= space[a].value();
  return rows;
}

// Reduces just the last axis (of those that are not 1) of an array with enough rows.
bool reduces_rows(const Node* n) {
  if (n->op->kind != OpKind::Reduce) return false;
  Sizes in = loop_sizes(n);
  Sizes space = squeezed(in);
  if (space.size() < 2 || is_empty(space) || num_rows(space) < kMinRows) return false;
  size_t last = in.size();
  while (in[last - 1] == Size(1))
    --last;
  bool found = false;
  for (Size a : n->attrs.sizes("axes")) {
    if (a.value() + 1 == static_cast<int64_t>(last))
      found = true;
    else if (!(in[a.value()] == Size(1)))
      return false;
  }
  return found;
}

struct Use {
  Node* user;  // nullptr: an output of the graph
  Level level;
  int next;  // the next use of the same node, or -1
};

// What a group reads from outside: a value, and the node that would make it a member's if it joined.
struct Read {
  const Node* value;
  const Node* source;  // nullptr: needed in memory
};

struct Group {
  FusionGroup::Kind kind;
  std::vector<Node*> members;  // root first (built from consumers to producers)
  Sizes space;
  std::vector<Read> reads;  // each value once
  size_t constants = 0;     // arrays
  uint64_t root_id() const { return members[0]->id; }
};

class Grouping {
 public:
  Grouping(const graph::Graph& g, const FusionLimits& limits)
      : limits_(limits),
        live_(live_nodes(g)),
        first_use_(live_, -1),
        first_source_(live_),
        group_of_(live_, -1),
        row_(live_),
        position_(live_) {
    for (Node* n : live_) {
      if (!computes(n)) continue;
      first_source_[n] = sources_.size();
      Sizes at = fusable(n) ? loop_sizes(n) : Sizes();
      for (const Operand& in : n->inputs) {
        Source s = fusable(n) ? source_of(in, at) : Source{};
        sources_.push_back(s);
        if (!in.is_node()) continue;
        if (s.level != Level::Foreign && computes(s.node))
          add_use(s.node, n, s.level);
        else
          add_use(base_of(in), n, Level::Foreign);
      }
    }
    for (const Operand& o : g.outputs)
      if (o.is_node()) add_use(base_of(o), nullptr, Level::Foreign);
  }

  std::vector<FusionGroup> run(bool merge) {
    for (size_t i = live_.size(); i-- > 0;)
      if (computes(live_[i]) && !(merge && join(live_[i]))) start(live_[i]);
    for (size_t k = 0; merge && limits_.max_recomputed > 1 && k < groups_.size(); ++k)
      if (sums_rows(groups_[k])) take_map(static_cast<int>(k));
    std::vector<FusionGroup> out;
    out.reserve(groups_.size());
    for (size_t k = 0; k < groups_.size(); ++k)
      if (!groups_[k].members.empty()) out.push_back(finished(static_cast<int>(k)));
    std::sort(out.begin(), out.end(),
              [](const FusionGroup& a, const FusionGroup& b) { return a.root()->id < b.root()->id; });
    return out;
  }

 private:
  static bool computes(const Node* n) { return n->op->kind != OpKind::Structure && !n->op->view; }

  void add_use(Node* of, Node* user, Level level) {
    uses_.push_back({user, level, std::exchange(first_use_[of], static_cast<int>(uses_.size()))});
  }
  // Calls f for the uses of n until it gives false; whether it never did.
  template <class F>
  bool all_uses(const Node* n, F f) const {
    for (int u = first_use_[n]; u >= 0; u = uses_[u].next)
      if (!f(uses_[u])) return false;
    return true;
  }
  // Where input i of a computing node comes from.
  const Source& source(const Node* n, size_t i) const { return sources_[first_source_[n] + i]; }

  void start(Node* n) {
    Group g{FusionGroup::Single, {n}, {}, {}};
    if (n->op->kind == OpKind::Elementwise)
      g.kind = FusionGroup::Map, g.space = squeezed(n->types[0].sizes);
    else if (reduces_rows(n))
      g.kind = FusionGroup::Rows, g.space = squeezed(loop_sizes(n));
    else if (n->op->kind == OpKind::Reduce)
      g.kind = FusionGroup::Reduce, g.space = squeezed(loop_sizes(n));
    if (g.kind != FusionGroup::Single) add_reads(g.reads, g.constants, n);
    group_of_[n] = static_cast<int>(groups_.size());
    row_[n] = g.kind == FusionGroup::Rows;
    groups_.push_back(std::move(g));
  }

  // The earliest group among the consumers that could take the node in.
  int candidate(Node* n) const {
    int best = -1;
    all_uses(n, [&](const Use& u) {
      if (u.level == Level::Foreign) return true;
      int k = group_of_[u.user];
      if (best < 0 || groups_[k].root_id() < groups_[best].root_id()) best = k;
      return true;
    });
    return best;
  }

  bool join(Node* n) {
    if (!fusable(n)) return false;
    int k = candidate(n);
    if (k < 0) return false;
    Group& g = groups_[k];
    if (g.members.size() >= limits_.max_members || is_empty(g.space)) return false;
    // All uses inside must see the node alike; those outside come later.
    bool outside = false, seen = false, row = false;
    bool alike = all_uses(n, [&](const Use& u) {
      bool inside = u.user && group_of_[u.user] == k;
      if (!inside) {
        outside = true;
        return !u.user || u.user->id > g.root_id();
      }
      if (u.level == Level::Foreign) return false;
      // A reduction reads its operand along the row even where it is itself one value per row.
      bool user_row = row_[u.user] && u.user->op->kind != OpKind::Reduce;
      if (user_row && u.level == Level::Row) return false;
      bool this_row = user_row || u.level == Level::Row;
      if (seen && this_row != row) return false;
      seen = true;
      row = this_row;
      return true;
    });
    if (!alike) return false;
    if (n->op->kind == OpKind::Reduce ? !can_take_reduction(g, n, row) : !can_take_map(g, n, row, outside))
      return false;
    reads_.clear();
    std::copy_if(g.reads.begin(), g.reads.end(), std::back_inserter(reads_),
                 [&](const Read& r) { return r.source != n; });
    size_t constants = g.constants;
    add_reads(reads_, constants, n);
    if (reads_.size() + constants + 1 > limits_.max_arrays) return false;
    std::swap(g.reads, reads_);
    g.constants = constants;
    group_of_[n] = k;
    g.members.push_back(n);
    if (bool promoted = n->op->kind == OpKind::Reduce && !row; promoted) {
      // What was one value per element of the smaller space is one value per row of the reduced array.
      for (Node* m : g.members)
        row_[m] = 1;
      g.space = squeezed(loop_sizes(n));
      row = true;
    }
    row_[n] = row;
    if (row) g.kind = FusionGroup::Rows;
    return true;
  }

  bool can_take_reduction(const Group& g, const Node* n, bool row) const {
    if (!reduces_rows(n)) return false;
    if (row) return (g.kind == FusionGroup::Rows || g.kind == FusionGroup::Map) && g.space == squeezed(loop_sizes(n));
    return g.kind == FusionGroup::Map && g.space == squeezed(n->types[0].sizes);
  }

  bool can_take_map(const Group& g, const Node* n, bool row, bool outside) const {
    Sizes own = squeezed(n->types[0].sizes);
    if (!row) {
      // A reduction along other axes keeps its inputs to itself: its loops do not store elements.
      return own == g.space && !(outside && g.kind == FusionGroup::Reduce);
    }
    if (g.kind == FusionGroup::Reduce || g.space.size() != own.size() + 1) return false;
    return g.kind == FusionGroup::Rows || (num_rows(g.space) >= kMinRows && g.space.back().value() >= kMinRowOfMap);
  }

  // Whether a group adds up many rows, so that a sum belongs to each place in a row.
  bool sums_rows(const Group& g) const {
    if (g.kind != FusionGroup::Reduce || g.space.size() < 2 || is_empty(g.space)) return false;
    const Node* root = g.members[0];
    const Sizes& in = root->inputs[0].sizes();
    int64_t added = 1;
    for (Size a : root->attrs.sizes("axes")) {
      if (a.value() + 1 == static_cast<int64_t>(in.size())) return false;
      added *= in[a.value()].value();
    }
    return in.back().value() >= kMinAddedRow && added >= kMinAddedRows;
  }

  // Computes the map whose values a sum reads in the sum's kernel, where all others that read them come later.
  void take_map(int k) {
    Group& sum = groups_[k];
    int from = -1;
    for (const Read& r : sum.reads)
      if (r.source && groups_[group_of_[r.source]].kind == FusionGroup::Map &&
          groups_[group_of_[r.source]].space == sum.space && group_of_[r.source] != k)
        from = group_of_[r.source];
    if (from < 0) return;
    Group& map = groups_[from];
    if (map.members.empty() || map.root_id() > sum.root_id() ||
        map.members.size() + sum.members.size() > limits_.max_members)
      return;
    size_t stored = 1;
    for (const Node* n : map.members) {
      bool outside = false;
      const bool later = all_uses(n, [&](const Use& u) {
        const int user = u.user ? group_of_[u.user] : -1;
        if (user == k) return u.level == Level::Whole;
        if (user == from) return true;
        outside = true;
        return !u.user || groups_[user].root_id() > sum.root_id();
      });
      if (!later) return;
      stored += outside;
    }
    Group both = sum;
    both.members.insert(both.members.end(), map.members.begin(), map.members.end());
    std::erase_if(both.reads, [&](const Read& r) { return r.source && group_of_[r.source] == from; });
    for (const Read& r : map.reads)
      if (std::none_of(both.reads.begin(), both.reads.end(), [&](const Read& x) { return x.value == r.value; }))
        both.reads.push_back(r);
    both.constants += map.constants;
    if (both.reads.size() + both.constants + stored > limits_.max_arrays) return;
    for (const Node* n : map.members)
      group_of_[n] = k;
    sum = std::move(both);
    map.members.clear();
  }

  // What n reads; its producers come later, so none of them is a member yet.
  void add_reads(std::vector<Read>& reads, size_t& constants, const Node* n) const {
    for (size_t i = 0; i < n->inputs.size(); ++i) {
      const Operand& in = n->inputs[i];
      if (!in.is_node()) {
        constants += in.rank() > 0;
        continue;
      }
      const Source& s = source(n, i);
      const Node* from = s.level == Level::Foreign ? nullptr : s.node;
      auto known = std::find_if(reads.begin(), reads.end(), [&](const Read& r) { return r.value == in.node().get(); });
      if (known == reads.end())
        reads.push_back({in.node().get(), from});
      else if (!from)
        known->source = nullptr;
    }
  }

  FusionGroup finished(int k) {
    const Group& g = groups_[k];
    FusionGroup f;
    f.kind = g.kind;
    f.space = g.space;
    std::vector<Node*> order = g.members;
    std::sort(order.begin(), order.end(), [](Node* a, Node* b) { return a->id < b->id; });
    f.members.reserve(order.size());
    for (Node* n : order) {
      FusionGroup::Member m{n, row_[n] != 0, {}, n == order.back()};
      for (size_t i = 0; i < n->inputs.size(); ++i) {
        const Source& s = source(n, i);
        m.inputs.push_back(s.level != Level::Foreign && group_of_[s.node] == k ? position_[s.node] : -1);
      }
      m.stored |= !all_uses(n, [&](const Use& u) { return u.user && group_of_[u.user] == k; });
      position_[n] = static_cast<int>(f.members.size());
      f.members.push_back(std::move(m));
    }
    return f;
  }

  const FusionLimits& limits_;
  std::vector<Node*> live_;
  std::vector<Use> uses_;
  graph::NodeMap<int> first_use_;  // -1: none
  std::vector<Source> sources_;    // of all inputs of all computing nodes
  graph::NodeMap<size_t> first_source_;
  std::vector<Group> groups_;
  std::vector<Read> reads_;       // of the group at hand, if a node joined
  graph::NodeMap<int> group_of_;  // -1: none yet
  graph::NodeMap<char> row_;      // one value for each row
  graph::NodeMap<int> position_;  // among the members of its group
};

}  // namespace

std::vector<graph::FusionGroup> choose_groups(const graph::Graph& g, const FusionLimits& limits, bool merge) {
  return Grouping(g, limits).run(merge);
}

}  // namespace sheaf::passes

// A kernel that computes a value on the way to another one, such as x x inside an activation, would store it for the
// gradient to load. If its operands are in memory anyway, recomputing it costs an instruction, less than the store and
// the load. On a device limited by memory several instructions also pay: the value's *cone*, from operands in memory up
// to the value.
#include "passes/graph/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "graph/op_def.h"
#include "passes/graph/rebuild.h"

namespace sheaf::passes {
namespace {

using graph::base_of;
using graph::FusionGroup;
using graph::Node;
using graph::Operand;
using graph::OpKind;

// Smaller arrays stay in cache until they are read.
constexpr int64_t kLeastBytes = 1 << 20;
// An array has few elements next to one with at least this many times as many.
constexpr int64_t kFew = 8;

int64_t count(const Sizes& sizes) { return num_elems(sizes).value(); }

class Recomputing {
 public:
  Recomputing(const graph::Graph& g, const std::vector<FusionGroup>& groups, size_t most)
      : g_(g),
        groups_(groups),
        most_(most),
        nodes_(live_nodes(g)),
        group_of_(nodes_, -1),
        member_(nodes_),
        users_(nodes_),
        goes_(nodes_),
        reads_(groups.size()) {}

  std::optional<graph::Graph> run() {
    Node* first = choose();
    if (!first) return std::nullopt;
    Rebuild rebuild(g_, nodes_, first);
    return rebuild.run([&](Node* n) { return Operand(with_inputs(*n, renamed_inputs(n, rebuild)), 0); });
  }

 private:
  // Marks the values to recompute. Returns the first node that reads one of them.
  Node* choose() {
    std::vector<Node*> candidates;
    graph::NodeMap<char> asked(nodes_);
    for (size_t k = 0; k < groups_.size(); ++k)
      for (const FusionGroup::Member& m : groups_[k].members) {
        group_of_[m.node] = static_cast<int>(k);
        member_[m.node] = &m;
        if (m.stored && !m.row && m.node != groups_[k].root() && is_cheap(*m.node))
          candidates.push_back(m.node), asked[m.node] = 1;
      }
    if (candidates.empty()) return nullptr;
    for (Node* n : nodes_)
      for (const Operand& in : n->inputs)
        if (in.is_node() && asked[in.node().get()]) users_[in.node().get()].push_back(n);
    for (const Operand& o : g_.outputs)
      if (o.is_node()) users_[o.node().get()].push_back(nullptr);
    // Producers first: a value that is recomputed is no longer an operand in memory for later candidates.
    std::sort(candidates.begin(), candidates.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
    Node* first = nullptr;
    for (Node* n : candidates) {
      if (!is_needless(n)) continue;
      goes_[n] = 1;
      for (Node* u : users_[n])
        if (is_elsewhere(u, n) && (!first || u->id < first->id)) first = u;
    }
    return first;
  }

  // Narrow floats must be rounded, which takes longer than loading them.
  bool is_cheap(const Node& n) const {
    const auto& [dtype, sizes] = n.types[0];
    return can_repeat(n) && !is_storage_only(dtype) &&
           count(sizes) * static_cast<int64_t>(size_bytes(dtype)) >= kLeastBytes;
  }

  bool can_repeat(const Node& n) const { return n.op->cheap || (most_ > 1 && n.op->kind == OpKind::Elementwise); }

  bool is_elsewhere(const Node* user, const Node* n) const { return group_of_[user] != group_of_[n]; }

  // True if every kernel that loads n could as well compute it.
  bool is_needless(const Node* n) {
    std::vector<Operand> leaves;
    std::set<const Node*> cone;
    return find_cone(n, cone, leaves) && std::all_of(users_[n].begin(), users_[n].end(), [&](const Node* u) {
             return u && (!is_elsewhere(u, n) || can_compute(u, n, leaves));
           });
  }

  // Collects the nodes that compute n from operands in memory, the leaves. Returns false if there are too many of them.
  bool find_cone(const Node* n, std::set<const Node*>& cone, std::vector<Operand>& leaves) const {
    if (!cone.insert(n).second) return true;
    return cone.size() <= most_ && std::all_of(n->inputs.begin(), n->inputs.end(), [&](const Operand& in) {
             if (waits_in_memory(in)) {
               leaves.push_back(in);
               return true;
             }
             const Node* from = in.node().get();
             return from == base_of(in) && can_repeat(*from) && find_cone(from, cone, leaves);
           });
  }

  // Values per row are so few that storing them costs nothing worth saving.
  bool waits_in_memory(const Operand& in) const {
    if (!in.is_node()) return true;
    const Node* n = base_of(in);
    const FusionGroup::Member* m = member_[n];
    return !m || m->row || (m->stored && !goes_[n]);
  }

  // True if the group of a user can compute n itself without loading more than before: one leaf instead of n.
  bool can_compute(const Node* user, const Node* n, const std::vector<Operand>& leaves) {
    int k = group_of_[user];
    if (k < 0 || groups_[k].kind == FusionGroup::Single) return false;
    const auto& [dtype, sizes] = n->types[0];
    if (!((user->op->kind == OpKind::Reduce ? user->inputs[0].sizes() : user->types[0].sizes) == sizes)) return false;
    const Node* more = nullptr;
    for (const Operand& in : leaves) {
      if (!in.is_node()) continue;
      const Node* from = base_of(in);
      const std::vector<const Node*>& read = reads(k);
      if (from == more || std::find(read.begin(), read.end(), from) != read.end()) continue;
      const bool few = kFew * count(in.sizes()) <= count(sizes);
      // The value that replaces an argument may be written into its memory, unless the argument is read later. An
      // argument of few elements may be copied then, if that costs less than the store that is saved.
      if (group_of_[from] < 0 && !(few && most_ > 1)) return false;
      if (count(in.sizes()) < count(sizes)) continue;
      if (more || size_bytes(in.dtype()) > size_bytes(dtype)) return false;
      more = from;
    }
    return true;
  }

  // The nodes that a group reads from memory.
  const std::vector<const Node*>& reads(int k) {
    std::vector<const Node*>& out = reads_[k];
    if (out.empty())
      for (const FusionGroup::Member& m : groups_[k].members)
        for (size_t i = 0; i < m.inputs.size(); ++i)
          if (m.inputs[i] < 0 && m.node->inputs[i].is_node()) out.push_back(base_of(m.node->inputs[i]));
    return out;
  }

  std::vector<Operand> renamed_inputs(const Node* n, const Rebuild& rebuild) {
    std::vector<Operand> inputs;
    inputs.reserve(n->inputs.size());
    for (const Operand& in : n->inputs)
      inputs.push_back(in.is_node() && goes_[in.node().get()] && is_elsewhere(n, in.node().get())
                           ? copy_for(n, in.node().get(), rebuild)
                           : rebuild.renamed(in));
    return inputs;
  }

  Operand copy_for(const Node* user, const Node* n, const Rebuild& rebuild) {
    const auto key = std::make_pair(n, group_of_[user]);
    if (auto known = copies_.find(key); known != copies_.end()) return Operand(known->second, 0);
    std::vector<Operand> inputs;
    for (const Operand& in : n->inputs)
      inputs.push_back(waits_in_memory(in) ? rebuild.renamed(in) : copy_for(user, in.node().get(), rebuild));
    return Operand(copies_[key] = with_inputs(*n, std::move(inputs)), 0);
  }

  const graph::Graph& g_;
  const std::vector<FusionGroup>& groups_;
  size_t most_;
  std::vector<Node*> nodes_;
  graph::NodeMap<int> group_of_;  // -1: an input or a view
  graph::NodeMap<const FusionGroup::Member*> member_;
  graph::NodeMap<std::vector<Node*>> users_;  // of the candidates; nullptr: an output
  graph::NodeMap<char> goes_;
  std::vector<std::vector<const Node*>> reads_;
  std::map<std::pair<const Node*, int>, Ref<Node>> copies_;
};

}  // namespace

std::optional<graph::Graph> recompute(const graph::Graph& g, const std::vector<FusionGroup>& groups, size_t most) {
  return Recomputing(g, groups, most).run();
}

}  // namespace sheaf::passes

// A group goes behind the last product among the groups that it reads; each product has one group behind it at most. Others that came between see what they
// saw before, but memory may suffer: an array that one of them still reads, or an argument, can no longer be written over by the group. Those stay where they are.
#include "passes/graph/follow_products.h"

#include <algorithm>
#include <utility>

#include "graph/node_map.h"
#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::Node;
using graph::Operand;

constexpr int64_t kLeast = 1 << 18;  // elements of a result; a smaller one stays in a cache by itself

int64_t elements(const Sizes& sizes) {
  int64_t n = 1;
  for (Size s : sizes) n *= s.value();
  return n;
}

// A product of one pair of matrices whose result is worth it.
bool is_product(const FusionGroup& g) {
  if (g.kind != FusionGroup::Single || (g.root()->op->name != "dot" && g.root()->op->name != "wide_dot")) return false;
  const Sizes& c = g.root()->types[0].sizes;
  return c[0] == Size(1) && c[1].value() > 1 && c[2].value() > 1 && elements(c) >= kLeast;
}

// Elementwise, or a sum of all elements.
bool can_follow(const FusionGroup& g) {
  return g.kind == FusionGroup::Map || (g.kind == FusionGroup::Reduce && g.root()->op->name == "sum" && elements(g.root()->types[0].sizes) == 1);
}

// Calls f for each operand that comes from outside the group.
template <class F>
void each_read(const FusionGroup& g, F f) {
  for (const FusionGroup::Member& m : g.members)
    for (size_t i = 0; i < m.node->inputs.size(); ++i)
      if (m.inputs.empty() || m.inputs[i] < 0)
        if (const Operand& o = m.node->inputs[i]; o.is_node()) f(o);
}

class Following {
 public:
  Following(const graph::Graph& g, const std::vector<FusionGroup>& groups) : groups_(groups), maker_(g.nodes, -1), readers_(g.nodes), follower_(groups.size(), -1) {
    for (size_t k = 0; k < groups.size(); ++k) {
      for (const FusionGroup::Member& m : groups[k].members) maker_[m.node] = static_cast<int>(k);
      each_read(groups[k], [&](const Operand& o) { readers_[base_of(o)].push_back(static_cast<int>(k)); });
    }
  }

  // By product: the group behind it, or -1.
  std::vector<int> run() {
    for (size_t k = 0; k < groups_.size(); ++k)
      if (can_follow(groups_[k])) place(static_cast<int>(k));
    return std::move(follower_);
  }

 private:
  void place(int k) {
    int last = -1;
    each_read(groups_[k], [&](const Operand& o) { last = std::max(last, maker_[base_of(o)]); });
    if (last < 0 || follower_[last] >= 0 || !is_product(groups_[last])) return;
    const Node* product = groups_[last].root();
    int64_t size = elements(product->types[0].sizes);
    if (elements(groups_[k].space) != size) return;
    bool stays = false;
    each_read(groups_[k], [&](const Operand& o) {
      const Node* n = base_of(o);
      if (n == product || elements(n->types[0].sizes) < size) return;
      stays |= maker_[n] < 0 || std::any_of(readers_[n].begin(), readers_[n].end(), [&](int r) { return r > last && r < k; });
    });
    if (!stays || k == last + 1) follower_[last] = k;
  }

  const std::vector<FusionGroup>& groups_;
  graph::NodeMap<int> maker_;                  // -1: an input
  graph::NodeMap<std::vector<int>> readers_;
  std::vector<int> follower_;
};

}  // namespace

std::vector<FusionGroup> follow_products(const graph::Graph& g, std::vector<FusionGroup> groups) {
  if (std::none_of(groups.begin(), groups.end(), is_product)) return groups;
  std::vector<int> follower = Following(g, groups).run();
  std::vector<bool> moved(groups.size(), false);
  for (int f : follower)
    if (f >= 0) moved[f] = true;
  std::vector<FusionGroup> out;
  out.reserve(groups.size());
  for (size_t k = 0; k < groups.size(); ++k) {
    if (moved[k]) continue;
    out.push_back(std::move(groups[k]));
    if (int f = follower[k]; f >= 0) {
      out.push_back(std::move(groups[f]));
      out.back().behind = true;
    }
  }
  return out;
}

}  // namespace sheaf::passes

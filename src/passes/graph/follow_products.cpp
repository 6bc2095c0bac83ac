// A group goes behind the last product among the groups that it reads; each product has one group behind it at most.
// Others that came between see what they saw before, but memory may suffer: an array that one of them still reads, or
// an argument, can no longer be written over by the group. Those stay where they are.
#include "passes/graph/follow_products.h"

#include <algorithm>
#include <utility>

#include "graph/node_map.h"
#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::FusionGroup;
using graph::Node;
using graph::Operand;

constexpr int64_t kLeast = 1 << 18;  // elements of a result; a smaller one stays in a cache by itself

int64_t elements(const Sizes& sizes) { return num_elems(sizes).value(); }

// A product whose result is worth it.
bool is_product(const FusionGroup& g) {
  const Node* n = product_of(g);
  return n && elements(n->types[0].sizes) >= kLeast;
}

// Elementwise, or a sum of all elements.
bool can_follow(const FusionGroup& g) {
  return g.kind == FusionGroup::Map ||
         (g.kind == FusionGroup::Reduce && g.root()->op->name == "sum" && elements(g.root()->types[0].sizes) == 1);
}

class Following {
 public:
  Following(const graph::Graph& g, const std::vector<FusionGroup>& groups)
      : groups_(groups), maker_(g.nodes, -1), readers_(g.nodes), follower_(groups.size(), -1) {
    for (size_t k = 0; k < groups.size(); ++k) {
      for (const FusionGroup::Member& m : groups[k].members)
        maker_[m.node] = static_cast<int>(k);
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
      stays |= maker_[n] < 0 ||
               std::any_of(readers_[n].begin(), readers_[n].end(), [&](int r) { return r > last && r < k; });
    });
    if (!stays || k == last + 1) follower_[last] = k;
  }

  const std::vector<FusionGroup>& groups_;
  graph::NodeMap<int> maker_;  // -1: an input
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

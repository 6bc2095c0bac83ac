// Decides from the graph alone which groups may be prologues and epilogues. Layouts, and so whether a device can run a
// fused product tile by tile, are known later; a device that cannot runs the parts one after the other.
#include "passes/graph/fuse_products.h"

#include <algorithm>
#include <utility>

#include "graph/node_map.h"
#include "graph/op_def.h"

namespace sheaf::passes {
namespace {

using graph::base_of;
using graph::each_part;
using graph::each_read;
using graph::FusionGroup;
using graph::has_member;
using graph::Node;
using graph::Operand;

int64_t elements(const Sizes& sizes) { return num_elems(sizes).value(); }

// Returns the product if it is of one pair of float matrices, with several rows and columns; else nullptr.
const Node* product_of(const FusionGroup& g) {
  if (g.kind != FusionGroup::Single && g.kind != FusionGroup::Product) return nullptr;
  const Node* n = g.root();
  if ((n->op->name != "dot" && n->op->name != "wide_dot") || !is_float(n->inputs[0].type().dtype)) return nullptr;
  const Sizes& c = n->types[0].sizes;
  return c[0] == Size(1) && c[1].value() > 1 && c[2].value() > 1 ? n : nullptr;
}

bool is_large_product(const FusionGroup& g, const FusionLimits& limits) {
  const Node* n = product_of(g);
  return n && elements(n->types[0].sizes) >= limits.min_product_elements;
}

// True for an elementwise group, or a sum of all elements.
bool can_be_epilogue(const FusionGroup& g) {
  return g.kind == FusionGroup::Map ||
         (g.kind == FusionGroup::Reduce && g.root()->op->name == "sum" && elements(g.root()->types[0].sizes) == 1);
}

// Chooses the epilogue of each product. A group that becomes one runs earlier than before: right after the product.
// Groups in between still read the same values, but memory reuse may suffer: the group can no longer overwrite an array
// that one of them still reads, or an argument. In that case it stays where it is.
class EpilogueChoice {
 public:
  EpilogueChoice(const graph::Graph& g, const std::vector<FusionGroup>& groups, const FusionLimits& limits)
      : groups_(groups), limits_(limits), maker_(g.nodes, -1), readers_(g.nodes), epilogue_(groups.size(), -1) {
    for (size_t k = 0; k < groups.size(); ++k) {
      for (const FusionGroup::Member& m : groups[k].members)
        maker_[m.node] = static_cast<int>(k);
      each_read(groups[k], [&](const Operand& o) { readers_[base_of(o)].push_back(static_cast<int>(k)); });
    }
  }

  // Returns for each group the index of its epilogue, or -1.
  std::vector<int> run() {
    for (size_t k = 0; k < groups_.size(); ++k)
      if (can_be_epilogue(groups_[k])) consider(static_cast<int>(k));
    return std::move(epilogue_);
  }

 private:
  void consider(int k) {
    int last = -1;
    each_read(groups_[k], [&](const Operand& o) { last = std::max(last, maker_[base_of(o)]); });
    if (last < 0 || epilogue_[last] >= 0 || !is_large_product(groups_[last], limits_)) return;
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
    if (!stays || k == last + 1) epilogue_[last] = k;
  }

  const std::vector<FusionGroup>& groups_;
  const FusionLimits& limits_;
  graph::NodeMap<int> maker_;  // -1: an input
  graph::NodeMap<std::vector<int>> readers_;
  std::vector<int> epilogue_;
};

// True if a group computes the left operand of a product, one value per element.
bool makes_factor(const FusionGroup& g, const Node* factor) {
  if (g.kind != FusionGroup::Map && g.kind != FusionGroup::Rows) return false;
  return std::any_of(g.members.begin(), g.members.end(),
                     [&](const FusionGroup::Member& m) { return m.node == factor && !m.row; });
}

bool reads_member(const FusionGroup& reader, const FusionGroup& of) {
  bool found = false;
  each_read(reader, [&](const Operand& o) { found |= has_member(of, base_of(o)); });
  return found;
}

}  // namespace

std::vector<FusionGroup> fuse_epilogues(const graph::Graph& g, std::vector<FusionGroup> groups,
                                        const FusionLimits& limits) {
  if (std::none_of(groups.begin(), groups.end(), [&](const auto& g) { return is_large_product(g, limits); }))
    return groups;
  std::vector<int> epilogue = EpilogueChoice(g, groups, limits).run();
  std::vector<bool> moved(groups.size(), false);
  for (int e : epilogue)
    if (e >= 0) moved[e] = true;
  std::vector<FusionGroup> out;
  out.reserve(groups.size());
  for (size_t k = 0; k < groups.size(); ++k) {
    if (moved[k]) continue;
    out.push_back(std::move(groups[k]));
    if (int e = epilogue[k]; e >= 0) {
      out.back().kind = FusionGroup::Product;
      out.back().epilogue.push_back(std::move(groups[e]));
    }
  }
  return out;
}

std::vector<FusionGroup> fuse_prologues(const graph::Graph& g, std::vector<FusionGroup> groups,
                                        const FusionLimits& limits) {
  graph::NodeMap<int> reads(g.nodes);
  for (const FusionGroup& group : groups)
    each_part(group, [&](const FusionGroup& part) { each_read(part, [&](const Operand& o) { ++reads[base_of(o)]; }); });
  for (const Operand& o : g.outputs)
    if (o.is_node()) ++reads[base_of(o)];
  auto can_be_prologue = [&](const FusionGroup& group, const Node* product) {
    const Operand &a = product->inputs[0], &b = product->inputs[1];
    if (!a.is_node() || elements(a.sizes()) < limits.min_product_elements || reads[base_of(a)] != 1) return false;
    return makes_factor(group, base_of(a)) && !(b.is_node() && has_member(group, base_of(b)));
  };
  std::vector<FusionGroup> out;
  out.reserve(groups.size());
  for (FusionGroup& group : groups) {
    const Node* product = product_of(group);
    if (!product || out.empty() || !can_be_prologue(out.back(), product)) {
      out.push_back(std::move(group));
      continue;
    }
    FusionGroup fused = std::move(group);
    fused.kind = FusionGroup::Product;
    fused.prologue.push_back(std::move(out.back()));
    // A prologue is complete only when the product is: an epilogue that reads another of its results runs by itself.
    std::vector<FusionGroup> apart;
    if (!fused.epilogue.empty() && reads_member(fused.epilogue[0], fused.prologue[0])) std::swap(apart, fused.epilogue);
    out.back() = std::move(fused);
    for (FusionGroup& e : apart)
      out.push_back(std::move(e));
  }
  return out;
}

}  // namespace sheaf::passes

// Elementwise groups and those that work row by row, such as norms. What takes the product before it part by part stays
// with that one.
#include "passes/graph/precede_products.h"

#include <algorithm>

#include "graph/node_map.h"

namespace sheaf::passes {
namespace {

using graph::FusionGroup;
using graph::Node;
using graph::Operand;

constexpr int64_t kLeast =
    1 << 18;  // elements of a factor; a smaller one stays in a cache by itself, and is no memory to speak of

bool makes(const FusionGroup& g, const Node* n) {
  if ((g.kind != FusionGroup::Map && g.kind != FusionGroup::Rows) || g.behind) return false;
  return std::any_of(g.members.begin(), g.members.end(),
                     [&](const FusionGroup::Member& m) { return m.node == n && !m.row; });
}

}  // namespace

void precede_products(const graph::Graph& g, std::vector<FusionGroup>& groups) {
  graph::NodeMap<int> reads(g.nodes);
  for (const FusionGroup& group : groups)
    each_read(group, [&](const Operand& o) { ++reads[base_of(o)]; });
  for (const Operand& o : g.outputs)
    if (o.is_node()) ++reads[base_of(o)];
  for (size_t k = 1; k < groups.size(); ++k)
    if (const Node* product = product_of(groups[k]); product && product->inputs[0].is_node()) {
      const Sizes& sizes = product->inputs[0].sizes();
      const Node* factor = base_of(product->inputs[0]);
      if (num_elems(sizes).value() >= kLeast && reads[factor] == 1 && makes(groups[k - 1], factor))
        groups[k - 1].before = sizes[2].value();
    }
}

}  // namespace sheaf::passes

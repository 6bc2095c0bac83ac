#include "transforms/batch.h"

#include <unordered_map>

#include "graph/engine.h"

namespace sheaf::transforms {

using graph::Node;
using graph::Operand;

std::vector<Batched> batch_graph(const graph::Graph& g, const std::vector<Batched>& inputs, Size batch) {
  std::unordered_map<Node*, std::vector<Batched>> mapped;
  for (size_t i = 0; i < g.inputs.size(); ++i) mapped[g.inputs[i].get()] = {inputs[i]};
  auto lookup = [&](const Operand& o) -> Batched {
    if (o.is_node())
      if (auto it = mapped.find(o.node().get()); it != mapped.end()) return it->second[o.index()];
    return {o, false};
  };
  for (Node* n : live_nodes(g)) {
    if (mapped.count(n)) continue;
    bool depends = false, any = false;
    graph::BatchCtx c{*n->op, n->attrs, {}, {}, batch};
    for (const Operand& in : n->inputs) {
      Batched b = lookup(in);
      depends |= in.is_node() && mapped.count(in.node().get());
      any |= b.batched;
      c.inputs.push_back(std::move(b.value));
      c.batched.push_back(b.batched);
    }
    if (!depends) continue;
    if (n->custom || (any && !n->op->batch.rule)) throw NotBatchable{n->op};
    std::vector<Operand> out = any ? n->op->batch.rule(c) : graph::apply_all(*n->op, std::move(c.inputs), n->attrs);
    std::vector<Batched>& results = mapped[n];
    for (Operand& o : out) results.push_back({std::move(o), any});
  }
  std::vector<Batched> outputs;
  for (const Operand& o : g.outputs) outputs.push_back(lookup(o));
  return outputs;
}

}  // namespace sheaf::transforms

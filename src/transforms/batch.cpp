#include "transforms/batch.h"

#include <unordered_map>

#include "graph/engine.h"

namespace sheaf::transforms {

using graph::Node;
using graph::Operand;

namespace {

// In a sub-graph, nodes that depend on no input are rebuilt too: the old ones would be taken for values of the
// enclosing graph.
std::vector<Batched> batch_nodes(const graph::Graph& g, const std::vector<Batched>& inputs, Size batch, bool nested);

std::vector<Operand> batch_subgraph(const graph::Graph& g, const std::vector<Operand>& inputs,
                                    const std::vector<bool>& batched, Size batch, std::vector<bool>& out_batched) {
  std::vector<Batched> in;
  for (size_t i = 0; i < inputs.size(); ++i)
    in.push_back({inputs[i], batched[i]});
  std::vector<Operand> out;
  out_batched.clear();
  for (Batched& b : batch_nodes(g, in, batch, true)) {
    out.push_back(std::move(b.value));
    out_batched.push_back(b.batched);
  }
  return out;
}

std::vector<Batched> batch_nodes(const graph::Graph& g, const std::vector<Batched>& inputs, Size batch, bool nested) {
  std::unordered_map<Node*, std::vector<Batched>> mapped;
  for (size_t i = 0; i < g.inputs.size(); ++i)
    mapped[g.inputs[i].get()] = {inputs[i]};
  auto lookup = [&](const Operand& o) -> Batched {
    if (o.is_node())
      if (auto it = mapped.find(o.node().get()); it != mapped.end()) return it->second[o.index()];
    return {o, false};
  };
  for (Node* n : live_nodes(g)) {
    if (mapped.count(n)) continue;
    bool depends = false, any = false;
    graph::BatchCtx c{*n->op, n->attrs, {}, {}, batch, n, batch_subgraph};
    for (const Operand& in : n->inputs) {
      Batched b = lookup(in);
      depends |= in.is_node() && mapped.count(in.node().get());
      any |= b.batched;
      c.inputs.push_back(std::move(b.value));
      c.batched.push_back(b.batched);
    }
    if (!depends && !nested) continue;
    if (!depends) {
      Ref<Node> again = with_inputs(*n, std::move(c.inputs));
      for (int i = 0; i < static_cast<int>(n->types.size()); ++i)
        mapped[n].push_back({Operand(again, i), false});
      continue;
    }
    if (n->custom || n->host || (any && !n->op->batch.rule)) throw NotBatchable{n->op};
    std::vector<Operand> out = any ? n->op->batch.rule(c)
                               : n->op->kind != graph::OpKind::Control
                                   ? graph::apply_all(*n->op, std::move(c.inputs), n->attrs)
                                   : graph::engine().apply_control(with_inputs(*n, std::move(c.inputs)));
    std::vector<Batched>& results = mapped[n];
    for (Operand& o : out)
      results.push_back({std::move(o), any});
  }
  std::vector<Batched> outputs;
  for (const Operand& o : g.outputs)
    outputs.push_back(lookup(o));
  return outputs;
}

}  // namespace

std::vector<Batched> batch_graph(const graph::Graph& g, const std::vector<Batched>& inputs, Size batch) {
  return batch_nodes(g, inputs, batch, false);
}

}  // namespace sheaf::transforms

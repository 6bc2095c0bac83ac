// Batching: applies a graph built for one example to a whole batch at once, by the entries' batching rules.
#pragma once
#include <vector>

#include "graph/graph.h"

namespace sheaf::transforms {

struct Batched {
  graph::Operand value;
  bool batched = false;  // has the batch as an extra leading axis
};

// Thrown for an op without a batching rule.
struct NotBatchable {
  const graph::OpDef* op;
};

// Returns the outputs of g with its inputs replaced: `inputs[i]` stands for g.inputs[i]. Nodes that depend on no input
// are used unchanged. Throws NotBatchable.
std::vector<Batched> batch_graph(const graph::Graph& g, const std::vector<Batched>& inputs, Size batch);

}  // namespace sheaf::transforms

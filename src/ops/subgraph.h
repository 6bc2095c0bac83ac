// Sub-graphs of control nodes: closing a part of a trace to a graph, and applying a closed graph again.
#pragma once
#include <functional>
#include <memory>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace sheaf::ops {

using graph::Graph;
using graph::Node;
using graph::Operand;
using GraphPtr = std::shared_ptr<const Graph>;

// Creates a parameter of a graph.
Ref<Node> parameter(const graph::TensorType& type);
std::vector<Ref<Node>> parameters(const std::vector<graph::TensorType>& types);
std::vector<Operand> operands(const std::vector<Ref<Node>>& nodes);

// Returns the first input, with `rule` as its derivative; the other inputs are operands of the rule (op `custom`).
Operand custom(std::vector<Operand> inputs, std::shared_ptr<const graph::CustomVjp> rule, const Span& span);

// Part of a graph to be closed: the nodes that `outputs` and `effects` depend on, down to `inputs` and to outside
// nodes: those older than `since`, and parameters of other graphs.
struct Piece {
  std::vector<Ref<Node>> inputs;
  std::vector<Operand> outputs;
  std::vector<Ref<Node>> effects;
  uint64_t since = 0;
  // Nodes older than `since` that are recomputed inside nevertheless.
  std::function<bool(const Node*)> again;
};
// Closes the piece to a separate graph. Appends the outside values that it reads to `captures`. The graph has the
// piece's inputs, then one input per capture, including captures that were there before.
GraphPtr close(const Piece& piece, std::vector<Operand>& captures);
// Adds inputs for captures added by graphs that were closed after this one.
GraphPtr with_captures(const GraphPtr& g, size_t num_inputs, const std::vector<Operand>& captures);

// The outputs of g with its inputs replaced: applies its nodes again, without their effects.
std::vector<Operand> replay(const Graph& g, const std::vector<Operand>& inputs);

}  // namespace sheaf::ops

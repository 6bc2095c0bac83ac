// Sub-graphs of control nodes: how a piece of a trace becomes a closed graph, and how a closed graph is applied again.
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

// A parameter of a graph.
Ref<Node> parameter(const graph::TensorType& type);
std::vector<Ref<Node>> parameters(const std::vector<graph::TensorType>& types);
std::vector<Operand> operands(const std::vector<Ref<Node>>& nodes);

// The first input, with `rule` as its derivative; the other inputs are what the rule needs (op `custom`).
Operand custom(std::vector<Operand> inputs, std::shared_ptr<const graph::CustomVjp> rule, const Span& span);

// A piece of a graph that is to stand by itself: what `outputs` and `effects` need down to `inputs`, and to whatever
// was there before: nodes older than `since`, parameters of other graphs.
struct Piece {
  std::vector<Ref<Node>> inputs;
  std::vector<Operand> outputs;
  std::vector<Ref<Node>> effects;
  uint64_t since = 0;
  // Nodes older than `since` that are computed again inside, all the same.
  std::function<bool(const Node*)> again;
};
// The piece as a graph of its own. What it uses from outside is appended to `captures`; after the piece's inputs the
// graph has one input for each capture, those that were there already included.
GraphPtr close(const Piece& piece, std::vector<Operand>& captures);
// Gives a graph that was closed first the captures that others have added since.
GraphPtr with_captures(const GraphPtr& g, size_t num_inputs, const std::vector<Operand>& captures);

// The outputs of g with its inputs replaced: its nodes are applied once more, without their effects.
std::vector<Operand> replay(const Graph& g, const std::vector<Operand>& inputs);

}  // namespace sheaf::ops

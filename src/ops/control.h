// Control nodes: structured control flow with sub-graphs, and host calls.
#pragma once
#include "ops/subgraph.h"

namespace sheaf::ops {

// A node that calls `call` with the values of `inputs` when its turn comes. Its one output is a token nobody reads.
Ref<Node> host_call(std::vector<Operand> inputs, graph::HostCall call);

// The outputs of a control node; its types follow from its sub-graphs.
std::vector<Operand> apply_control(std::string_view name, std::vector<Operand> inputs, graph::Attrs attrs,
                                   std::vector<GraphPtr> subgraphs, std::vector<graph::TensorType> types);

std::vector<graph::TensorType> output_types(const Graph& g);
// The same operand is an earlier input too.
bool is_repeated(const Node& n, size_t input);

// `yes` or `no`, by a 0-d Bool; both are closed graphs over `captures`.
std::vector<Operand> cond(Operand predicate, GraphPtr yes, GraphPtr no, std::vector<Operand> captures);
// A graph as one node: its inner values are not kept for the backward pass, which computes them again.
std::vector<Operand> checkpoint(GraphPtr body, std::vector<Operand> captures);

}  // namespace sheaf::ops

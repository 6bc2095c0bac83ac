// Control nodes: structured control flow with sub-graphs, and host calls.
#pragma once
#include "ops/subgraph.h"

namespace sheaf::ops {

// A node that calls `call` with the values of `inputs`, in program order. Its one output is an unused token.
Ref<Node> host_call(std::vector<Operand> inputs, graph::HostCall call);

// Applies a control op; the output types follow from its sub-graphs.
std::vector<Operand> apply_control(std::string_view name, std::vector<Operand> inputs, graph::Attrs attrs,
                                   std::vector<GraphPtr> subgraphs, std::vector<graph::TensorType> types);

std::vector<graph::TensorType> output_types(const Graph& g);
// True if an earlier input is the same operand.
bool is_repeated(const Node& n, size_t input);

// `yes` or `no`, by a 0-d Bool; both are closed graphs over `captures`.
std::vector<Operand> cond(Operand predicate, GraphPtr yes, GraphPtr no, std::vector<Operand> captures);
// Wraps a graph as one node: its inner values are not stored for the backward pass, which recomputes them.
std::vector<Operand> checkpoint(GraphPtr body, std::vector<Operand> captures);

}  // namespace sheaf::ops

// Evaluates a graph whose sizes are expressions for given values of the symbols.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace sheaf::compiler {

// The replacement of nodes that yield sizes as numbers. Inputs follow the graph's others, in the order of `size_nodes`:
// kernels take them as data, so that one kernel serves all sizes.
enum class SizeNodes : uint8_t { Inputs, Constants };
// Returns the graph with every expression replaced by its value.
graph::Graph instantiate(const graph::Graph& g, std::span<const int64_t> symbols, SizeNodes nodes);
// The nodes of g that yield sizes as numbers.
std::vector<const graph::Node*> size_nodes(const graph::Graph& g);
// The value of such a node.
Tensor size_numbers(const graph::Node& n, std::span<const int64_t> symbols);
// For each symbol: whether some size in the graph depends on it (others only occur as numbers).
std::vector<uint8_t> shaping_symbols(const graph::Graph& g, size_t num_symbols);

}  // namespace sheaf::compiler

// A graph whose sizes are expressions, for one set of numbers.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace sheaf::compiler {

// What becomes of nodes that give sizes as numbers. Inputs come after the others, in the order of `size_nodes`:
// kernels take them as data, so that one kernel serves all sizes.
enum class SizeNodes : uint8_t { Inputs, Constants };
// The graph with every expression replaced by what it comes to.
graph::Graph instantiate(const graph::Graph& g, std::span<const int64_t> symbols, SizeNodes nodes);
// The nodes of g that give sizes as numbers.
std::vector<const graph::Node*> size_nodes(const graph::Graph& g);
// What such a node gives.
Tensor size_numbers(const graph::Node& n, std::span<const int64_t> symbols);
// For each symbol: some size in the graph depends on it (others only appear as numbers).
std::vector<uint8_t> shaping_symbols(const graph::Graph& g, size_t num_symbols);

}  // namespace sheaf::compiler

// A closed graph: what a trace produced, ready to be compiled.
#pragma once
#include <string>
#include <vector>

#include "graph/node.h"

namespace sheaf::graph {

struct Graph {
  std::vector<Ref<Node>> inputs;   // nodes of the op "input", in order
  std::vector<Operand> outputs;    // nodes or constants
  std::vector<Ref<Node>> effects;  // host calls, and control nodes that contain some, in program order
  // The live nodes, if the code that built the graph had just listed them: finding them again walks all of memory.
  // Empty: unknown. Clear it when you change anything above.
  std::vector<Node*> nodes = {};
};

// The nodes that the outputs and effects depend on, inputs included, in order of creation; only those with ids >=
// `oldest`.
std::vector<Node*> live_nodes(const Graph& g, uint64_t oldest = 0);
// Prints the text of graph/text.h, one node per line; deterministic.
std::string print(const Graph& g);

}  // namespace sheaf::graph

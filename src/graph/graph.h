// A closed graph: what a trace produced, ready to be compiled.
#pragma once
#include <string>
#include <vector>

#include "graph/node.h"

namespace sheaf::graph {

struct Graph {
  std::vector<Ref<Node>> inputs;   // nodes of the op "input", in order
  std::vector<Operand> outputs;    // nodes or constants
  std::vector<Ref<Node>> effects;  // host calls, and control nodes that hold some, in the order of the program
  // The live nodes, where who made the graph had just listed them: finding them is a walk through all memory. Empty:
  // not known, as it must be when something above is changed.
  std::vector<Node*> nodes = {};
};

// The nodes the outputs and effects depend on, inputs included, in order of creation; only those with the id `oldest`
// or a greater one.
std::vector<Node*> live_nodes(const Graph& g, uint64_t oldest = 0);
// The text of graph/text.h, one node a line; deterministic.
std::string print(const Graph& g);

}  // namespace sheaf::graph

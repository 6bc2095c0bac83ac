// What rewriting passes share: a graph whose nodes are made again from the first one that changes.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/node_map.h"

namespace sheaf::passes {

class Rebuild {
 public:
  // `nodes` are the live ones of g, in order. Those before `first` stay as they are: nodes must keep their order, which
  // is that of their ids.
  Rebuild(const graph::Graph& g, const std::vector<graph::Node*>& nodes, const graph::Node* first);

  // Calls make(node) for each node from `first` on: what takes its place (of one output), or an empty operand where it
  // stays, with renamed operands.
  template <class F>
  graph::Graph run(F make) {
    for (graph::Node* n : nodes_)
      if (graph::Operand& r = replacement_[n]; !r && !(r = make(n)))
        r = graph::Operand(with_inputs(*n, renamed(n->inputs)), 0);
    return finished();
  }

  // What has taken the place of an operand that was made earlier.
  graph::Operand renamed(const graph::Operand& o) const;
  std::vector<graph::Operand> renamed(const std::vector<graph::Operand>& operands) const;

 private:
  graph::Graph finished() const;

  const graph::Graph& g_;
  const std::vector<graph::Node*>& nodes_;
  graph::NodeMap<graph::Operand> replacement_;  // of output 0
};

// A pass that puts other nodes in the place of some. What several of them found in one graph is done in one go: making
// nodes again is what costs time.
class Rewrite {
 public:
  virtual ~Rewrite() = default;
  // The first node that it changes, or null.
  virtual const graph::Node* first() const = 0;
  // What takes the place of n; empty where n is none of its nodes.
  virtual graph::Operand make(graph::Node* n, const Rebuild& rebuild) = 0;
};
// `nodes` are the live ones of g, in order.
using FindRewrite = std::unique_ptr<Rewrite>(const graph::Graph& g, const std::vector<graph::Node*>& nodes);

graph::Graph rewritten(const graph::Graph& g, const std::vector<graph::Node*>& nodes,
                       std::span<const std::unique_ptr<Rewrite>> rewrites);

}  // namespace sheaf::passes

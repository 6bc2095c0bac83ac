// Shared by rewriting passes: a graph whose nodes are rebuilt from the first one that changes.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/node_map.h"

namespace sheaf::passes {

class Rebuild {
 public:
  // `nodes` are the live nodes of g, in order. Those before `first` are kept: nodes must stay in the order of their
  // ids.
  Rebuild(const graph::Graph& g, const std::vector<graph::Node*>& nodes, const graph::Node* first);

  // Calls make(node) for each node from `first` on. It returns the replacement (of a single output), or an empty
  // operand to keep the node, with renamed operands.
  template <class F>
  graph::Graph run(F make) {
    for (graph::Node* n : nodes_)
      if (graph::Operand& r = replacement_[n]; !r && !(r = make(n)))
        r = graph::Operand(with_inputs(*n, renamed(n->inputs)), 0);
    return finished();
  }

  // The replacement of an operand that was rebuilt earlier.
  graph::Operand renamed(const graph::Operand& o) const;
  std::vector<graph::Operand> renamed(const std::vector<graph::Operand>& operands) const;

 private:
  graph::Graph finished() const;

  const graph::Graph& g_;
  const std::vector<graph::Node*>& nodes_;
  graph::NodeMap<graph::Operand> replacement_;  // of output 0
};

// A pass that replaces single nodes. The rewrites that several passes found in one graph are applied together, because
// rebuilding nodes is the expensive part.
class Rewrite {
 public:
  virtual ~Rewrite() = default;
  // The first node that it changes, or null.
  virtual const graph::Node* first() const = 0;
  // The replacement of n; empty if this pass does not change n.
  virtual graph::Operand make(graph::Node* n, const Rebuild& rebuild) = 0;
};
// `nodes` are the live nodes of g, in order.
using FindRewrite = std::unique_ptr<Rewrite>(const graph::Graph& g, const std::vector<graph::Node*>& nodes);

graph::Graph rewritten(const graph::Graph& g, const std::vector<graph::Node*>& nodes,
                       std::span<const std::unique_ptr<Rewrite>> rewrites);

}  // namespace sheaf::passes

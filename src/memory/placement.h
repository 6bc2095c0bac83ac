// Which values are written directly into a concatenation, so that the concatenation does not copy them. Decided once
// for a graph and its fusion groups; not changed after that.
#pragma once
#include <vector>

#include "graph/fusion_group.h"
#include "graph/node_map.h"

namespace sheaf::memory {

class Placement {
 public:
  struct Part {
    graph::Node* concat = nullptr;
    size_t input = 0;  // of the concatenation
  };

  Placement(const graph::Graph& g, const std::vector<graph::FusionGroup>& groups);

  // Where a value goes; `concat` is null if it has memory of its own.
  const Part& of(const graph::Node* n) const { return parts_[n]; }
  // Whether an input of a concatenation is written to its place by the kernel that makes it.
  bool is_placed(const graph::Node* concat, size_t input) const;

 private:
  graph::NodeMap<Part> parts_;
};

}  // namespace sheaf::memory

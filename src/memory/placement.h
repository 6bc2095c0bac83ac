// Decides which values are written directly into a concatenation, so that the concatenation does not copy them.
// Computed once for a graph and its fusion groups; immutable after that.
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

  // The place of a value; `concat` is null if the value has memory of its own.
  const Part& of(const graph::Node* n) const { return parts_[n]; }
  // True if the kernel that computes this input writes it directly to its place in the concatenation.
  bool is_placed(const graph::Node* concat, size_t input) const;

 private:
  graph::NodeMap<Part> parts_;
};

}  // namespace sheaf::memory

// Mixed training rounds each weight in each step: it reads all of them in f32 and writes them in bf16, although the
// step before had the new weight in registers when it stored it. This pass makes the rounded weight an input of the
// step, and the next rounded weight an output.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace sheaf::passes {

// An input that a graph reads rounded, and the output that is likely to become that input in the next run.
struct RoundedInput {
  size_t input, output;
  DType dtype;
};
struct KeptRounded {
  // Has one more input for each of `rounded`, after the others, and one more output (its `output`, rounded), after the
  // others.
  graph::Graph graph;
  std::vector<RoundedInput> rounded;
};

// Expects: a graph of known sizes.
// Returns the graph with its casts of large f32 inputs to bf16 or f16 replaced by new inputs, for inputs from which an
// output of the same sizes is computed elementwise. Returns nothing if there are none. Values are unchanged to the bit.
std::optional<KeptRounded> keep_rounded(const graph::Graph& g);

}  // namespace sheaf::passes

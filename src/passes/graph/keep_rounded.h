// Mixed training rounds each weight in each step: it reads all of them in f32 and writes them again, although the step
// before had the new weight in registers when it wrote it. The rounded weight is better an input of the step, and the
// next one a result.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace sheaf::passes {

// An input that a graph reads rounded, and the output that is likely to be that input of the next run.
struct RoundedInput {
  size_t input, output;
  DType dtype;
};
struct KeptRounded {
  // Has an input for each of `rounded` after the others, and the output of that, rounded, after the others.
  graph::Graph graph;
  std::vector<RoundedInput> rounded;
};

// Expects: a graph of known sizes.
// Gives: the graph with large inputs in f32 that are cast to bf16 or f16, and that an output of the same sizes is made
// of element by element, replaced where they are cast. Nothing where there are none. Values are unchanged to the bit.
std::optional<KeptRounded> keep_rounded(const graph::Graph& g);

}  // namespace sheaf::passes

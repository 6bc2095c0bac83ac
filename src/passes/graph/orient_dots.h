// Computes a product that is read only transposed in its transposed form: (A B)ᵀ = Bᵀ Aᵀ. The gradient of a weight that
// was itself read transposed (tied embeddings) is then written once, in its final layout, instead of being copied.
#pragma once
#include "passes/graph/rebuild.h"

namespace sheaf::passes {

// Expects: a closed graph.  Leaves: no dot whose every use is a transpose of its last two axes. Values are unchanged to
// the bit: a product of two numbers does not depend on their order, nor does the sum over k.
FindRewrite orient_dots;

}  // namespace sheaf::passes

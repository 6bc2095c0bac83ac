#include "graph/fusion_group.h"

#include "graph/op_def.h"

namespace sheaf::graph {

Sizes squeezed(const Sizes& sizes) {
  Sizes out;
  for (Size s : sizes)
    if (!(s == Size(1))) out.push_back(s);
  return out;
}

Node* base_of(const Operand& o) {
  Node* n = o.node().get();
  while (n->op->view && n->inputs[0].is_node())
    n = n->inputs[0].node().get();
  return n;
}

}  // namespace sheaf::graph

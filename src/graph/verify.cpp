#include "graph/verify.h"

#include <unordered_set>

#include "graph/op_def.h"

namespace sheaf::graph {
namespace {

void check_operand(const Graph& g, const Operand& o, uint64_t before, const char* whose) {
  INVARIANT(static_cast<bool>(o), "an empty operand of " << whose << " in\n" << print(g));
  if (!o.is_node()) {
    INVARIANT(o.value().buffer, "a constant without data, an operand of " << whose);
    return;
  }
  INVARIANT(o.index() >= 0 && o.index() < static_cast<int>(o.node()->types.size()),
            "no such output: " << o.index() << " of " << o.node()->op->name << " in\n"
                               << print(g));
  INVARIANT(o.node()->id < before, o.node()->op->name << " comes after its use by " << whose << " in\n" << print(g));
}

void check_types(const Graph& g, const Node& n) {
  if (!n.op->infer) return;  // inputs and custom nodes state their types themselves
  std::vector<TensorType> inputs;
  for (const Operand& in : n.inputs)
    inputs.push_back(in.type());
  std::vector<TensorType> types;
  try {
    types = n.op->infer({inputs, n.attrs});
  } catch (const UserError& e) {
    INVARIANT(false, n.op->name << " cannot take its operands (" << e.message << ") in\n" << print(g));
  }
  INVARIANT(types == n.types, "the types of " << n.op->name << " are not what it makes of its operands, "
                                              << type_text(types.empty() ? TensorType{} : types[0]) << ", in\n"
                                              << print(g));
}

}  // namespace

void verify(const Graph& g) {
  std::unordered_set<const Node*> inputs;
  for (const auto& n : g.inputs) {
    INVARIANT(n->inputs.empty() && n->types.size() == 1, "an input is no plain parameter");
    INVARIANT(inputs.insert(n.get()).second, "one node is two inputs");
  }
  if (!g.nodes.empty())
    INVARIANT(g.nodes == live_nodes({g.inputs, g.outputs, g.effects}), "the list of nodes is not that of\n"
                                                                           << print(g));
  for (const Node* n : live_nodes(g)) {
    std::string name(n->op->name);
    for (const Operand& in : n->inputs)
      check_operand(g, in, n->id, name.c_str());
    INVARIANT(!n->types.empty(), name << " has no output");
    if (!inputs.count(n)) check_types(g, *n);
    for (const auto& inner : n->subgraphs)
      verify(*inner);
  }
  for (const Operand& o : g.outputs)
    check_operand(g, o, ~0ull, "the results");
}

}  // namespace sheaf::graph

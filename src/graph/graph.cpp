#include "graph/graph.h"

#include <fmt/format.h>

#include <map>

#include "graph/op_def.h"

namespace sheaf::graph {

std::vector<Node*> live_nodes(const Graph& g) {
  std::map<uint64_t, Node*> found;
  std::vector<Node*> todo;
  for (const auto& n : g.inputs) found.emplace(n->id, n.get());
  for (const Operand& o : g.outputs)
    if (o.is_node()) todo.push_back(o.node().get());
  while (!todo.empty()) {
    Node* n = todo.back();
    todo.pop_back();
    if (!found.emplace(n->id, n).second) continue;
    for (const Operand& in : n->inputs)
      if (in.is_node()) todo.push_back(in.node().get());
  }
  std::vector<Node*> order;
  for (auto& [id, n] : found) order.push_back(n);
  return order;
}

std::string print(const Graph& g) {
  std::map<Node*, int> number;
  std::string out = "graph(";
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    number[g.inputs[i].get()] = static_cast<int>(number.size());
    out += fmt::format("{}v{}: {}", i ? ", " : "", i, type_text(g.inputs[i]->types[0]));
  }
  out += ") {\n";
  auto ref = [&](const Operand& o) -> std::string {
    if (!o.is_node()) return "const " + type_text(o.type());
    std::string s = fmt::format("v{}", number[o.node().get()]);
    return o.node()->types.size() > 1 ? fmt::format("{}.{}", s, o.index()) : s;
  };
  for (Node* n : live_nodes(g)) {
    if (number.count(n)) continue;
    std::string args;
    for (const Operand& in : n->inputs) args += (args.empty() ? "" : ", ") + ref(in);
    int id = static_cast<int>(number.size());
    number[n] = id;
    out += fmt::format("  v{}: {} = {}({}) {}\n", id, type_text(n->types[0]), n->op->name, args, n->attrs.str());
  }
  std::string results;
  for (const Operand& o : g.outputs) results += (results.empty() ? "" : ", ") + ref(o);
  return out + "  return " + results + "\n}\n";
}

}  // namespace sheaf::graph

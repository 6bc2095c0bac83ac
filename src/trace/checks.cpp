#include "trace/checks.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "graph/engine.h"
#include "ops/apply.h"
#include "ops/table.h"
#include "trace/context.h"

namespace sheaf::trace {
namespace {

using graph::Node;

// Products check how many rows their groups have, all other ops indices.
bool checks_groups(const Node& n) { return n.op->kind == graph::OpKind::Contract; }
const Operand& checked_input(const Node& n) { return n.inputs[checks_groups(n) ? 2 : 1]; }

// What is checked: which indices or groups, against which size, and whether negative indices count from the end.
using Check = std::tuple<const void*, int, std::string, bool, bool>;

Check check_of(const Node& n) {
  const Operand& index = checked_input(n);
  const void* of = index.is_node() ? static_cast<const void*>(index.node().get()) : index.value().buffer.get();
  return {of, index.index(), n.inputs[0].size(1).str(), checks_groups(n), !checks_groups(n) && n.attrs.flag("wrap")};
}

// Indices that the compiler made itself are in range.
bool can_fail(const Node& n) { return checks_groups(n) || n.attrs.get<std::string>("who") != ops::kInRange; }

// The same check by an op that reads nothing else.
Operand check_alone(const Node& n) {
  const Operand &x = n.inputs[0], &checked = checked_input(n);
  auto nothing = [](DType d, Sizes sizes) { return ops::broadcast_to(ops::constant_int(d, 0), std::move(sizes)); };
  if (checks_groups(n))
    return graph::apply(ops::op("grouped_dot"), {nothing(DType::F32, {x.size(0), x.size(1), 0}),
                                                 nothing(DType::F32, {x.size(0), checked.size(1), 0, 1}), checked});
  return graph::apply(ops::op("take"),
                      {nothing(DType::Bool, {1, x.size(1), 1}), ops::reshape(checked, {num_elems(checked.sizes())})},
                      {{"who", n.attrs.get<std::string>("who")}, {"wrap", n.attrs.flag("wrap")}, {"set", false}});
}

// Nodes that depend on nothing but the inputs of a graph and of the traces it is part of. Reverse and batching rules
// make others on the way, for the sub-graphs of control nodes.
class Own {
 public:
  explicit Own(const graph::Graph& g) {
    for (const auto& n : g.inputs)
      inputs_.insert(n.get());
    for (const TraceContext* c = TraceContext::current_context(); c; c = c->outer) {
      for (const auto& n : c->inputs)
        inputs_.insert(n.get());
      for (const auto& n : c->parameters)
        inputs_.insert(n.get());
    }
  }

  bool has(const Node* node) {
    std::vector<const Node*> todo = {node}, found;
    while (!todo.empty()) {
      const Node* n = todo.back();
      todo.pop_back();
      if (!is_own_.emplace(n, true).second) continue;
      found.push_back(n);
      for (const Operand& in : n->inputs)
        if (in.is_node()) todo.push_back(in.node().get());
    }
    std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
    for (const Node* n : found) {
      bool own = n->op->role != graph::Role::Input || inputs_.count(n);
      for (const Operand& in : n->inputs)
        own &= !in.is_node() || is_own_.at(in.node().get());
      is_own_[n] = own;
    }
    return is_own_.at(node);
  }

 private:
  std::unordered_set<const Node*> inputs_;
  std::unordered_map<const Node*, bool> is_own_;
};

}  // namespace

std::vector<Ref<Node>> unused_checks(const std::vector<Ref<Node>>& checked, const graph::Graph& g) {
  std::vector<Ref<Node>> out;
  if (checked.empty()) return out;
  std::unordered_set<const Node*> live;
  std::set<Check> done;
  for (const Node* n : live_nodes(g)) {
    live.insert(n);
    if (n->op->check_text) done.insert(check_of(*n));
  }
  Own own(g);
  TraceContext mine;  // what is made here is not one of the program's reads
  TraceContext::Use use(mine);
  for (const Ref<Node>& n : checked) {
    if (!can_fail(*n) || live.count(n.get()) || !own.has(n.get()) || !done.insert(check_of(*n)).second) continue;
    // Where the program shows something, the check keeps its place in the order.
    if (!g.effects.empty()) {
      out.push_back(n);
      continue;
    }
    if (Operand check = check_alone(*n); check.is_node()) out.push_back(check.node());
  }
  return out;
}

}  // namespace sheaf::trace

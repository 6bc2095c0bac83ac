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

// Products check the row counts of their groups, elementwise ops a divisor, all other ops indices.
enum class What : uint8_t { Indices, Groups, Divisor };

What what_checks(const Node& n) {
  if (n.op->kind == graph::OpKind::Contract) return What::Groups;
  return n.op->kind == graph::OpKind::Elementwise ? What::Divisor : What::Indices;
}
const Operand& checked_input(const Node& n) { return n.inputs[what_checks(n) == What::Groups ? 2 : 1]; }

// Identifies a check: the operand, the kind, the size it is compared with, and whether negative indices count from the
// end.
using Check = std::tuple<const void*, int, What, std::string, bool>;

Check check_of(const Node& n) {
  const Operand& checked = checked_input(n);
  const void* of = checked.is_node() ? static_cast<const void*>(checked.node().get()) : checked.value().buffer.get();
  What what = what_checks(n);
  return {of, checked.index(), what, what == What::Divisor ? "" : n.inputs[0].size(1).str(),
          what == What::Indices && n.attrs.flag("wrap")};
}

// Indices that the compiler generated are in range.
bool can_fail(const Node& n) {
  switch (what_checks(n)) {
    case What::Groups: return true;
    case What::Divisor: return n.attrs.flag("checked");
    default: return n.attrs.get<std::string>("who") != ops::kInRange;
  }
}

// An op that performs the same check and reads nothing else.
Operand check_alone(const Node& n) {
  const Operand &x = n.inputs[0], &checked = checked_input(n);
  auto nothing = [](DType d, Sizes sizes) { return ops::broadcast_to(ops::constant_int(d, 0), std::move(sizes)); };
  if (what_checks(n) == What::Divisor) return graph::apply(*n.op, {checked, checked}, {{"checked", true}});
  if (what_checks(n) == What::Groups)
    return graph::apply(ops::op("grouped_dot"), {nothing(DType::F32, {x.size(0), x.size(1), 0}),
                                                 nothing(DType::F32, {x.size(0), checked.size(1), 0, 1}), checked});
  return graph::apply(ops::op("take"),
                      {nothing(DType::Bool, {1, x.size(1), 1}), ops::reshape(checked, {num_elems(checked.sizes())})},
                      {{"who", n.attrs.get<std::string>("who")}, {"wrap", n.attrs.flag("wrap")}, {"how", int64_t{0}}});
}

// The nodes that depend only on the inputs of a graph and of its enclosing traces. VJP and batching rules create others
// temporarily, for the sub-graphs of control nodes.
class Own {
 public:
  explicit Own(const graph::Graph& g) {
    for (const auto& n : g.inputs)
      inputs_.insert(n.get());
    for (const TraceContext* c = TraceContext::current_context(); c; c = c->outer) {
      for (const auto& n : c->all_inputs())
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
    if (n->op->check_text && can_fail(*n)) done.insert(check_of(*n));
  }
  Own own(g);
  TraceContext mine;  // nodes created here are not reads of the program
  TraceContext::Use use(mine);
  for (const Ref<Node>& n : checked) {
    if (!can_fail(*n) || live.count(n.get()) || !own.has(n.get()) || !done.insert(check_of(*n)).second) continue;
    // If the program has effects, the check keeps its position among them.
    if (!g.effects.empty()) {
      out.push_back(n);
      continue;
    }
    if (Operand check = check_alone(*n); check.is_node()) out.push_back(check.node());
  }
  return out;
}

}  // namespace sheaf::trace

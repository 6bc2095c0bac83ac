// Scalars computed from numbers among the function's arguments: their current values, and the guards recorded for them.
#include "compiler/eager.h"
#include "graph/op_def.h"
#include "trace/context.h"
#include "trace/control.h"
#include "trace/size_values.h"
#include "value/equal.h"

namespace sheaf::trace {

using graph::Node;

namespace {

// True for scalars and short vectors of them (a shape, say).
bool is_small(const Node* n) {
  constexpr int64_t kMaxElements = 16;
  if (n->types.size() != 1 || !n->subgraphs.empty() || n->host || n->custom) return false;
  Size count = num_elems(n->types[0].sizes);
  return count.is_const() && count.value() <= kMaxElements;
}

}  // namespace

const Value* TraceContext::current_of(const Node* node) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].get() == node || wide_inputs[i].get() == node) return current[i].is_tensor() ? nullptr : &current[i];
  return outer ? outer->current_of(node) : nullptr;
}

std::optional<Tensor> TraceContext::scalar_now(const Operand& o) {
  if (!o.is_node()) return o.value();
  if (!is_small(o.node().get())) return std::nullopt;
  auto& now = outermost().now_;
  // Chains grow with the trace, so this uses an explicit stack: a node is finished once its inputs are.
  std::vector<const Node*> todo{o.node().get()};
  while (!todo.empty()) {
    const Node* n = todo.back();
    if (now.count(n)) {
      todo.pop_back();
      continue;
    }
    if (size_values(*n)) {
      now[n] = known_numbers(*n);
      todo.pop_back();
      continue;
    }
    if (n->inputs.empty() || !is_small(n)) {
      const Value* v = current_of(n);
      now[n] = v ? std::optional(input_tensor(*v, n->types[0].dtype)) : std::nullopt;
      todo.pop_back();
      continue;
    }
    std::vector<Tensor> in;
    bool ready = true, known = true;
    for (const Operand& x : n->inputs) {
      if (!x.is_node()) {
        in.push_back(x.value());
      } else if (auto it = now.find(x.node().get()); it == now.end()) {
        ready = false;
        todo.push_back(x.node().get());
      } else if (it->second) {
        in.push_back(*it->second);
      } else {
        known = false;
      }
    }
    if (known && !ready) continue;
    now[n] = known ? std::optional(compiler::run_op(*n->op, in, n->attrs, n->types)[0]) : std::nullopt;
  }
  return now[o.node().get()];
}

std::optional<Tensor> TraceContext::guarded_scalar(const Operand& o) {
  std::optional<Tensor> t = scalar_now(o);
  if (!t || !o.is_node()) return t;
  auto& predicates = outermost().predicates;
  for (const auto& [known, value] : predicates)
    if (known.node() == o.node()) return t;
  predicates.emplace_back(o, *t);
  return t;
}

std::optional<bool> known_truth(const Value& v) {
  Value c = v.as_traced()->concrete();
  if (!c.is_nil()) return truthy(c);
  TraceContext* context = TraceContext::current_context();
  if (!context) return std::nullopt;
  Operand o = operand_of(v);
  if (o.rank() > 0) return true;
  if (!context->outermost().guards_predicates) return std::nullopt;
  // Guards the truth, not the number itself.
  if (auto t = context->guarded_scalar(truth_operand(v))) return element_as_int(*t, 0) != 0;
  return std::nullopt;
}

}  // namespace sheaf::trace

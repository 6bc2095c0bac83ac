#include "compiler/instantiate.h"

#include <unordered_map>

#include "graph/op_def.h"
#include "ops/table.h"

namespace sheaf::compiler {
namespace {

using graph::Attrs;
using graph::Graph;
using graph::Node;
using graph::Operand;
using graph::TensorType;

bool is_size_node(const Node& n) { return n.op->role == graph::Role::Sizes; }

Sizes evaluated(const Sizes& sizes, std::span<const int64_t> symbols) {
  Sizes out;
  for (Size s : sizes)
    out.push_back(Size(s.eval(symbols)));
  return out;
}

std::vector<TensorType> evaluated(const std::vector<TensorType>& types, std::span<const int64_t> symbols) {
  std::vector<TensorType> out;
  for (const TensorType& t : types)
    out.push_back({t.dtype, evaluated(t.sizes, symbols)});
  return out;
}

Attrs evaluated(const Attrs& attrs, std::span<const int64_t> symbols) {
  Attrs out;
  for (const auto& [key, value] : attrs.items()) {
    if (const Sizes* s = std::get_if<Sizes>(&value))
      out.add(key, evaluated(*s, symbols));
    else
      out.add(key, value);
  }
  return out;
}

}  // namespace

Graph instantiate(const Graph& g, std::span<const int64_t> symbols, SizeNodes nodes) {
  Graph out;
  std::unordered_map<const Node*, Operand> made;
  std::vector<Ref<Node>> numbers;
  auto renamed = [&](const Operand& o) {
    if (!o.is_node()) return o;
    const Operand& m = made.at(o.node().get());
    return m.is_node() ? Operand(m.node(), o.index()) : m;
  };
  for (Node* n : live_nodes(g)) {
    if (is_size_node(*n)) {
      if (nodes == SizeNodes::Constants) {
        made[n] = size_numbers(*n, symbols);
        continue;
      }
      numbers.push_back(make_ref<Node>(&ops::op("input"), Attrs{}, std::vector<Operand>{}, n->types));
      made[n] = Operand(numbers.back(), 0);
      continue;
    }
    std::vector<Operand> inputs;
    for (const Operand& in : n->inputs)
      inputs.push_back(renamed(in));
    auto node = make_ref<Node>(n->op, evaluated(n->attrs, symbols), std::move(inputs), evaluated(n->types, symbols));
    node->span = n->span;
    node->custom = n->custom;
    node->host = n->host;
    // A sub-graph cannot get further inputs.
    for (const auto& sub : n->subgraphs)
      node->subgraphs.push_back(std::make_shared<const Graph>(instantiate(*sub, symbols, SizeNodes::Constants)));
    made[n] = Operand(std::move(node), 0);
  }
  for (const auto& n : g.inputs)
    out.inputs.push_back(made.at(n.get()).node());
  for (Ref<Node>& n : numbers)
    out.inputs.push_back(std::move(n));
  for (const Operand& o : g.outputs)
    out.outputs.push_back(renamed(o));
  for (const auto& n : g.effects)
    out.effects.push_back(made.at(n.get()).node());
  return out;
}

namespace {

void mark(Size s, std::vector<uint8_t>& found) {
  if (s.is_const()) return;
  const SizeNode* n = s.node();
  if (n->op == SizeOp::Symbol) {
    found[n->a.value()] = 1;
    return;
  }
  mark(n->a, found);
  mark(n->b, found);
}

void mark(const Graph& g, bool inner, std::vector<uint8_t>& found) {
  for (const Node* n : live_nodes(g)) {
    if (is_size_node(*n) && !inner) continue;
    for (const TensorType& t : n->types)
      for (Size s : t.sizes)
        mark(s, found);
    for (const auto& [key, value] : n->attrs.items())
      if (const Sizes* sizes = std::get_if<Sizes>(&value))
        for (Size s : *sizes)
          mark(s, found);
    for (const auto& sub : n->subgraphs)
      mark(*sub, true, found);
  }
}

}  // namespace

std::vector<const Node*> size_nodes(const Graph& g) {
  std::vector<const Node*> out;
  for (const Node* n : live_nodes(g))
    if (is_size_node(*n)) out.push_back(n);
  return out;
}

Tensor size_numbers(const Node& n, std::span<const int64_t> symbols) {
  const Sizes& values = n.attrs.sizes("values");
  const TensorType& type = n.types[0];
  Tensor t = empty_tensor(type.dtype, to_dims(type.sizes));
  for (size_t i = 0; i < values.size(); ++i)
    store_int(type.dtype, t.bytes_mut() + static_cast<int64_t>(i) * size_bytes(type.dtype), values[i].eval(symbols));
  return t;
}

std::vector<uint8_t> shaping_symbols(const Graph& g, size_t num_symbols) {
  std::vector<uint8_t> found(num_symbols, 0);
  mark(g, false, found);
  return found;
}

}  // namespace sheaf::compiler

#include "trace/traced.h"

#include <algorithm>
#include <cmath>

#include "compiler/eager.h"
#include "graph/graph.h"
#include "ops/apply.h"
#include "ops/complex.h"
#include "ops/table.h"
#include "tensor/size_facts.h"
#include "trace/context.h"
#include "trace/jit.h"
#include "trace/size_values.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::trace {
namespace {

using graph::Attrs;
using graph::Node;
using graph::OpDef;
using graph::TensorType;

Value scalar_value(const Tensor& t, Kind kind) {
  switch (kind) {
    case Kind::Int:
      return Value::integer(is_float(t.dtype) ? std::llround(element_as_double(t, 0)) : element_as_int(t, 0));
    case Kind::Float: return Value::floating_from(element_as_double(t, 0));
    case Kind::Bool: return Value::boolean(element_as_double(t, 0) != 0);
    case Kind::Tensor: break;
  }
  return Value::tensor(t);
}

// A loop with very many turns must not fill the memory with its trace. Numbers of nodes grow in the order of creation.
void check_length(const Operand& o) {
  constexpr uint64_t kMaxTracedNodes = 60'000;
  const TraceContext* c = TraceContext::current_context();
  if (!c) return;
  while (c->outer)
    c = c->outer;
  if (!c->inputs.empty() && o.node()->id > c->inputs[0]->id + kMaxTracedNodes)
    throw Untraceable("its trace is too long", current_span(), true);
}

class TapeEngine final : public graph::Engine {
 public:
  std::vector<Operand> apply(const OpDef& op, std::vector<Operand> inputs, Attrs attrs) override {
    std::vector<TensorType> types;
    types.reserve(inputs.size());
    bool any_node = false, all_values = true, any_complex = false;
    for (const Operand& o : inputs) {
      types.push_back(o.type());
      any_node |= o.is_node();
      all_values &= o.has_value();
      any_complex |= is_complex(types.back().dtype);
    }
    if (any_complex)
      if (auto made = of_parts(op, inputs, attrs); !made.empty()) return made;
    std::vector<TensorType> out = op.infer({types, attrs});
    if (SizeFacts::current()) {
      if (auto sizes = apply_to_sizes(op, inputs, attrs, out[0])) return {std::move(*sizes)};
      // What depends on a size that is not known cannot be run now.
      if (!are_known(attrs, out)) {
        any_node = true;
        all_values = false;
      }
    }
    std::vector<Tensor> values;
    if (all_values) {
      std::vector<Tensor> tensors;
      tensors.reserve(inputs.size());
      for (const Operand& o : inputs)
        tensors.push_back(o.value());
      values = compiler::run_op(op, tensors, attrs, out);
    }
    std::vector<Operand> results;
    if (!any_node || (all_values && ends_gradients(op, out))) {
      for (Tensor& t : values)
        results.emplace_back(std::move(t));
      return results;
    }
    auto node = make_ref<Node>(&op, std::move(attrs), std::move(inputs), std::move(out));
    node->values = std::move(values);
    node->span = current_span();
    if (op.check_text && !all_values)
      if (TraceContext* c = TraceContext::current_context()) c->checked.push_back(node);
    for (size_t i = 0; i < node->types.size(); ++i)
      results.emplace_back(node, static_cast<int>(i));
    return results;
  }

  std::vector<Operand> apply_control(Ref<Node> node) override {
    bool known = true;
    for (const Operand& o : node->inputs)
      known &= o.has_value();
    for (const auto& g : node->subgraphs)
      known &= g->effects.empty();  // effects have their turn when the graph runs
    if (known) return node->op->unroll(*node);
    node->span = current_span();
    std::vector<Operand> results;
    for (size_t i = 0; i < node->types.size(); ++i)
      results.emplace_back(node, static_cast<int>(i));
    return results;
  }

 private:
  // Complex numbers by other ops; nothing when the op itself only moves them.
  static std::vector<Operand> of_parts(const OpDef& op, const std::vector<Operand>& inputs, const Attrs& attrs) {
    const graph::ComplexCtx c{op, attrs, inputs};
    if (op.complex) {
      Value whole;
      return as_one(c, whole) ? std::vector<Operand>{operand_of(whole)} : op.complex(c);
    }
    if (!op.dtypes.has(DType::C64)) ops::refuse_complex(c);
    return {};
  }
  // Of large arrays, what a rule makes of them as one kernel, as if it were a function of the program: one by one, a
  // product is eleven ops, each of which writes an array.
  static bool as_one(const graph::ComplexCtx& c, Value& result) {
    constexpr int64_t kLeast = 4096;
    if (c.op.kind != graph::OpKind::Elementwise || !c.attrs.items().empty() || !g_jit_enabled || is_tracing() ||
        gradient_depth() > 0)
      return false;
    std::vector<Value> roots;
    int64_t most = 0;
    for (const Operand& x : c.inputs) {
      if (x.is_node()) return false;
      roots.push_back(Value::tensor(x.value()));
      most = std::max(most, x.value().num_elems());
    }
    if (most < kLeast) return false;
    auto body = [&c](const std::vector<Value>& traced) {
      std::vector<Operand> in;
      for (const Value& v : traced)
        in.push_back(operand_of(v));
      return to_value(c.op.complex({c.op, c.attrs, in})[0], Kind::Tensor);
    };
    const FunctionKey key{reinterpret_cast<uintptr_t>(&c.op), {}};
    return run_compiled(key, std::string(c.op.name) + " of c64", roots, body, result);
  }
  static bool are_known(const Attrs& attrs, const std::vector<TensorType>& out) {
    auto known = [](const Sizes& s) { return std::all_of(s.begin(), s.end(), [](Size x) { return x.is_const(); }); };
    for (const auto& [key, value] : attrs.items())
      if (const Sizes* s = std::get_if<Sizes>(&value); s && !known(*s)) return false;
    return std::all_of(out.begin(), out.end(), [&](const TensorType& t) { return known(t.sizes); });
  }
  // A value known now, through which no derivative flows, need not be on the tape.
  static bool ends_gradients(const OpDef& op, const std::vector<TensorType>& out) {
    if (op.vjp.zero) return true;
    for (const TensorType& t : out)
      if (is_inexact(t.dtype)) return false;
    return true;
  }
};

}  // namespace

Value Traced::concrete() const {
  if (wide && wide.has_value()) return scalar_value(wide.value(), kind);
  return operand.has_value() ? scalar_value(operand.value(), kind) : Value::nil();
}

std::string Traced::describe() const {
  switch (kind) {
    case Kind::Int: return "int";
    case Kind::Float: return "float";
    case Kind::Bool: return "bool";
    case Kind::Tensor: break;
  }
  return graph::type_text(operand.type());
}

Value to_value(const Operand& o, Kind kind, const Operand& wide) {
  if (!o.is_node()) return scalar_value(wide && wide.has_value() ? wide.value() : o.value(), kind);
  check_length(o);
  return Value::object(Tag::Traced, new Traced(o, kind, wide));
}

bool is_numeric(const Value& v) {
  switch (v.tag()) {
    case Tag::Bool:
    case Tag::Int:
    case Tag::Float:
    case Tag::Tensor:
    case Tag::Traced: return true;
    default: return false;
  }
}

Kind kind_of(const Value& v) {
  switch (v.tag()) {
    case Tag::Bool: return Kind::Bool;
    case Tag::Int: return Kind::Int;
    case Tag::Float: return Kind::Float;
    case Tag::Traced: return static_cast<Traced*>(v.object())->kind;
    default: return Kind::Tensor;
  }
}

Operand operand_of(const Value& v) {
  switch (v.tag()) {
    case Tag::Traced: return static_cast<Traced*>(v.object())->operand;
    case Tag::Tensor: return v.as_tensor();
    default: break;
  }
  DType d = v.is_bool() ? DType::Bool : v.is_int() ? DType::I64 : DType::F32;
  Tensor t = empty_tensor(d, {});
  if (v.is_float())
    *t.data_mut<float>() = v.as_float();
  else
    store_int(d, t.bytes_mut(), v.as_int());
  return t;
}

Operand wide_operand(const Value& v) {
  if (v.is_traced()) return static_cast<Traced*>(v.object())->wide;
  if (!v.is_float() || !v.has_more_digits()) return {};
  Tensor t = empty_tensor(DType::F64, {});
  *t.data_mut<double>() = v.as_double();
  return t;
}

Operand f64_operand(const Value& v) {
  Operand wide = wide_operand(v);
  return wide ? wide : ops::cast(operand_of(v), DType::F64);
}

Tensor input_tensor(const Value& v, DType dtype) {
  if (v.is_tensor()) return contiguous(v.as_tensor());
  return (v.is_float() && dtype == DType::F64 ? f64_operand(v) : operand_of(v)).value();
}

TraceContext*& TraceContext::current_ref() {
  thread_local TraceContext* c = nullptr;
  return c;
}

Value TraceContext::add_input(const Value& leaf, const Sizes* symbols) {
  TensorType type = operand_of(leaf).type();
  bool is_size = symbols && !leaf.is_tensor();
  if (symbols && !is_size) type.sizes = *symbols;
  auto node =
      make_ref<Node>(&ops::op("input"), Attrs{}, std::vector<Operand>{}, std::vector<TensorType>{std::move(type)});
  inputs.push_back(node);
  current.push_back(leaf);
  wide_inputs.emplace_back();
  if (is_size) return to_value(sizes_operand(*symbols, DType::I64, true), Kind::Int);
  Operand wide;
  if (leaf.is_float()) {
    wide_inputs.back() =
        make_ref<Node>(&ops::op("input"), Attrs{}, std::vector<Operand>{}, std::vector<TensorType>{{DType::F64, {}}});
    wide = Operand(wide_inputs.back(), 0);
  }
  return Value::object(Tag::Traced, new Traced(Operand(node, 0), kind_of(leaf), std::move(wide)));
}

std::vector<Ref<Node>> TraceContext::all_inputs() const {
  std::vector<Ref<Node>> all = inputs;
  for (const auto& n : wide_inputs)
    if (n) all.push_back(n);
  return all;
}

Value TraceContext::guarded_value(const Node* node) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if ((inputs[i].get() != node && wide_inputs[i].get() != node) || current[i].is_tensor()) continue;
    bool known = false;
    for (const auto& g : guards)
      known |= g.first == i;
    if (!known) guards.emplace_back(i, current[i]);
    return current[i];
  }
  return outer ? outer->guarded_value(node) : Value();
}

Value concrete(const Value& v) {
  if (!v.is_traced()) return v;
  Value c = v.as_traced()->concrete();
  if (const auto* t = static_cast<Traced*>(v.object()); size_values(t->operand))
    c = scalar_value(known_numbers(*t->operand.node()), t->kind);
  if (c.is_nil() && TraceContext::current_ref()) {
    const auto* t = static_cast<Traced*>(v.object());
    c = TraceContext::current_ref()->guarded_value(t->operand.node().get());
    if (c.is_nil())
      if (auto now = TraceContext::current_ref()->guarded_scalar(t->wide ? t->wide : t->operand))
        c = scalar_value(*now, t->kind);
  }
  if (c.is_nil())
    throw Untraceable("the value of a traced " + v.as_traced()->describe() + " is needed", current_span());
  return c;
}

Value concrete_tree(const Value& v) {
  bool known = all_leaves(v, [](const Value& x) { return !x.is_traced(); });
  return known ? v : map_leaves(v, concrete);
}

std::vector<Operand> traced_leaves(const Value& tree) {
  std::vector<Operand> out;
  each_leaf(tree, [&](const Value& v) {
    if (v.is_traced()) out.push_back(operand_of(v));
  });
  return out;
}

Value with_traced_leaves(const Value& tree, std::span<const Operand> leaves) {
  size_t next = 0;
  return map_leaves(tree, [&](const Value& v) { return v.is_traced() ? to_value(leaves[next++], kind_of(v)) : v; });
}

Span& current_span() {
  thread_local Span span;
  return span;
}

int& gradient_depth() {
  thread_local int depth = 0;
  return depth;
}

void install() {
  static TapeEngine engine;
  graph::install_engine(&engine);
}

Operand make_leaf(const Operand& o) {
  auto node = make_ref<Node>(&ops::op("leaf"), Attrs{}, std::vector<Operand>{o}, std::vector<TensorType>{o.type()});
  if (o.has_value()) node->values = {o.value()};
  node->span = current_span();
  return Operand(node, 0);
}

}  // namespace sheaf::trace

#include "builtins/arrays/op_functions.h"

#include <deque>

#include "builtins/arrays/arrays.h"

namespace sheaf::builtins {
namespace {

using graph::Arguments;
using graph::OpDef;
using trace::to_value;

Value unary_floats(Call& c) {
  const OpDef& op = *c.def.op;
  const Value& v = c[0];
  if (is_plain_scalar(v)) {
    if (op.of_numbers.f64) return Value::floating(static_cast<float>(op.of_numbers.f64(scalar_float(v))));
    if (op.of_numbers.f32) return Value::floating(op.of_numbers.f32(scalar_float(v)));
  }
  Num n = num(v);
  if (!n.is_scalar()) return tensor_value(graph::apply(op, {ops::cast(n.x, float_dtype(n.x.dtype()))}));
  Operand x = ops::cast(n.x, DType::F32);
  if (!op.of_numbers.f64) return to_value(graph::apply(op, {x}), Kind::Float);
  return to_value(ops::cast(graph::apply(op, {ops::cast(x, DType::F64)}), DType::F32), Kind::Float);
}

Value binary_floats(Call& c) { return binary(*c.def.op, c[0], c[1], true); }

Value same_dtype(Call& c) {
  Num n = num(c[0]);
  if (n.x.dtype() == DType::Bool || is_storage_only(n.x.dtype())) n.x = ops::cast(n.x, DType::I32);
  return to_value(graph::apply(*c.def.op, {n.x}), n.kind == Kind::Bool ? Kind::Int : n.kind);
}

Value test(Call& c) {
  Num n = num(c[0]);
  DType d = n.is_scalar() ? DType::F32 : float_dtype(n.x.dtype());
  return to_value(graph::apply(*c.def.op, {ops::cast(n.x, d)}), n.is_scalar() ? Kind::Bool : Kind::Tensor);
}

// Folds from left to right; a single argument is returned unchanged.
Value promoted(Call& c) {
  const OpDef& op = *c.def.op;
  Value acc = std::move(c[0]);
  if (c.size() == 1) num(acc);
  for (size_t i = 1; i < c.size(); ++i) {
    const Value& b = c[i];
    if (!is_plain_scalar(acc) || !is_plain_scalar(b))
      acc = binary(op, acc, b);
    else if (!acc.is_float() && !b.is_float())
      acc = Value::integer(op.of_numbers.i64_pair(acc.as_int(), b.as_int()));
    else
      acc = Value::floating(op.of_numbers.f32_pair(scalar_float(acc), scalar_float(b)));
  }
  return acc;
}

Value arrays(Call& c) {
  std::vector<Num> args;
  for (const Value& v : c.args)
    args.push_back(v.is_list() ? Num{array_operand(v, c.def.name), Kind::Tensor} : num(v));
  DType dtype = common_dtype(args.front(), args.back());
  std::vector<Operand> inputs;
  for (const Num& n : args)
    inputs.push_back(in_dtype(n, dtype));
  graph::Attrs attrs;
  for (const Option& o : c.options)
    if (is_true(o.value)) attrs.add(o.name.str().c_str(), true);
  Operand y = graph::apply(*c.def.op, inputs, attrs);
  if (y.rank() > 0) return tensor_value(y);
  return is_int(y.dtype()) ? to_value(ops::cast(y, DType::I64), Kind::Int) : float_value(y);
}

// The parts of "(searchsorted sorted x [:right])".
struct Signature {
  std::string_view name;
  int arguments = 0;
  std::string options;  // in the format of BuiltinDef
};
Signature parts_of(std::string_view text) {
  Signature out;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (out.name.empty())
      out.name = word;
    else if (word.starts_with("[:"))
      out.options.append(out.options.empty() ? "" : " ").append(word.substr(2, word.size() - 3));
    else
      ++out.arguments;
  }
  return out;
}

BuiltinDef builtin_of(const OpDef& op) {
  static auto* signatures = new std::deque<Signature>;  // definitions refer to its strings
  const Signature& signature = signatures->emplace_back(parts_of(op.signature));
  BuiltinDef d{signature.name, op.category, op.signature, op.doc, {}, 1, 1};
  d.op = &op;
  if (d.category.empty()) d.category = op.kind == graph::OpKind::Reduce ? "Reductions" : "Elementary functions";
  for (const Example& e : op.examples)
    if (!e.code.empty()) d.examples.push_back(e);
  switch (op.arguments) {
    case Arguments::Floats:
      d.min_args = d.max_args = signature.arguments;
      d.run = d.max_args == 1 ? unary_floats : binary_floats;
      break;
    case Arguments::Same: d.run = same_dtype; break;
    case Arguments::Tests: d.run = test; break;
    case Arguments::Promoted:
      d.max_args = -1;
      d.run = promoted;
      break;
    case Arguments::Total:
    case Arguments::TotalOrNumber:
      d.run = total;
      d.options = kReductionOptions;
      break;
    case Arguments::Position:
      d.run = position;
      d.options = kReductionOptions;
      break;
    case Arguments::Arrays:
      d.min_args = d.max_args = signature.arguments;
      d.run = arrays;
      d.options = signature.options;
      break;
  }
  return d;
}

std::vector<BuiltinDef> make_builtins() {
  std::vector<BuiltinDef> out;
  for (const OpDef* op : ops::all_ops())
    if (!op->signature.empty()) out.push_back(builtin_of(*op));
  return out;
}

}  // namespace

std::span<const BuiltinDef> op_builtins() {
  static const auto* builtins = new std::vector<BuiltinDef>(make_builtins());
  return *builtins;
}

}  // namespace sheaf::builtins

#include "trace/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ops/apply.h"
#include "ops/control.h"
#include "trace/checks.h"
#include "trace/subtrace.h"
#include "value/dict.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::trace {

using graph::Node;

Subtrace subtrace(const std::vector<Ref<Node>>& inputs, const std::function<Value()>& body, Errors errors) {
  Subtrace t;
  t.piece.inputs = inputs;
  t.piece.since = graph::next_node_id();
  TraceContext context;
  context.parameters = inputs;
  {
    TraceContext::Use use(context);
    try {
      t.result = body();
    } catch (const UserError& e) {
      if (errors == Errors::Raise) throw;
      t.failed = true;
      // What it says does not matter: the interpreted run comes to the same place.
      context.effects.push_back(
          ops::host_call({}, [message = e.message](std::span<const Tensor>) { throw runtime_error(message); }));
    }
  }
  t.piece.effects = std::move(context.effects);
  t.checked = std::move(context.checked);
  return t;
}

void keep_checks(Subtrace& t) {
  auto unused = unused_checks(t.checked, {t.piece.inputs, t.piece.outputs, t.piece.effects});
  t.piece.effects.insert(t.piece.effects.end(), unused.begin(), unused.end());
}

void keep_effects(const std::vector<Operand>& outputs, const std::vector<ops::GraphPtr>& subgraphs) {
  for (const auto& g : subgraphs)
    if (!g->effects.empty()) {
      TraceContext::current_context()->effects.push_back(outputs[0].node());
      return;
    }
}

Operand truth_operand(const Value& v) {
  Operand x = operand_of(v);
  return x.dtype() == DType::Bool ? x : ops::apply1("bit_not", ops::equal(x, ops::like(x, 0)));
}

namespace {

// Two results of the same structure, with the arrays that differ put aside.
class Merge {
 public:
  std::vector<Operand> yes, no;

  // The tree with a placeholder for each array that depends on the way taken.
  Value tree(const Value& a, const Value& b) {
    const Value both[] = {a, b};
    return zip_trees(both, Nodes::Closures,
                     [&](std::span<const Value* const> parts, const TreePath&) { return part(*parts[0], *parts[1]); });
  }

  // The tree of the way that gives a value, when the other ends in an error.
  Value only(const Value& v, bool is_yes) {
    return map_leaves(v, [&](const Value& x) {
      if (!x.is_traced()) return x;
      Operand o = operand_of(x);
      Operand nothing = ops::zeros(o.type());
      return is_yes ? add(o, nothing, kind_of(x)) : add(nothing, o, kind_of(x));
    });
  }

  // The merged tree with its placeholders replaced by the outputs of the node.
  Value fill(const Value& tree, const std::vector<Operand>& outputs) const {
    auto replace = [&](const Value& v) -> Value {
      auto it = v.is_traced() ? places_.find(v.object()) : places_.end();
      if (it == places_.end()) return v;
      const Operand& o = outputs[it->second];
      if (kind_of(v) == Kind::Float && o.dtype() == DType::F64)
        return to_value(ops::cast(o, DType::F32), Kind::Float, o);
      return to_value(o, kind_of(v));
    };
    return map_leaves(tree, replace, Nodes::Closures);
  }

 private:
  // Nothing: containers whose parts are to be merged.
  std::optional<Value> part(const Value& a, const Value& b) {
    if (is_numeric(a) && is_numeric(b)) return leaf(a, b);
    if (a.tag() != b.tag()) differ(a, b);
    switch (a.tag()) {
      case Tag::Nil:
      case Tag::Marker: return a;
      case Tag::String:
        if (a.as_string() != b.as_string()) differ(a, b);
        return a;
      case Tag::Keyword:
        if (!(a.as_keyword() == b.as_keyword())) differ(a, b);
        return a;
      case Tag::Function:
        if (a.object() == b.object()) return a;
        [[fallthrough]];
      case Tag::List:
      case Tag::Tuple:
      case Tag::Dict:
        if (!same_container(a, b, Nodes::Closures)) differ(a, b);
        return std::nullopt;
      default:
        if (a.object() != b.object()) differ(a, b);
        return a;
    }
  }

  Value leaf(const Value& a, const Value& b) {
    if (!a.is_traced() && !b.is_traced() && a.tag() == b.tag()) {
      if (a.is_tensor() ? a.object() == b.object() : a.as_int() == b.as_int()) return a;
    }
    Kind kind = kind_of(a);
    Operand x = operand_of(a), y = operand_of(b);
    // An int that a gradient is taken of is computed in f32.
    if (kind == Kind::Int && x.dtype() != y.dtype()) {
      x = ops::cast(x, DType::F32);
      y = ops::cast(y, DType::F32);
    }
    if (kind == Kind::Float && kind_of(b) == Kind::Float && (wide_operand(a) || wide_operand(b))) {
      x = f64_operand(a);
      y = f64_operand(b);
    }
    if (kind != kind_of(b) || !(x.type() == y.type())) differ(a, b);
    return add(std::move(x), std::move(y), kind);
  }

  Value add(Operand a, Operand b, Kind kind) {
    Value placeholder = Value::object(Tag::Traced, new Traced(Operand(ops::parameter(a.type()), 0), kind));
    places_[placeholder.object()] = yes.size();
    yes.push_back(std::move(a));
    no.push_back(std::move(b));
    return placeholder;
  }

  [[noreturn]] static void differ(const Value& a, const Value& b) {
    throw Untraceable(fmt::format("the branches on a traced value give different kinds of results: {} and {}",
                                  short_text(a), short_text(b)),
                      current_span());
  }

  std::unordered_map<const Object*, size_t> places_;
};

}  // namespace

Value trace_cond(const Value& condition, const std::function<Value()>& yes, const std::function<Value()>& no) {
  Span span = current_span();
  Operand predicate = truth_operand(condition);
  Subtrace a = subtrace({}, yes, Errors::Record), b = subtrace({}, no, Errors::Record);
  current_span() = span;
  if (a.failed && b.failed) throw Untraceable("both branches on a traced value end in an error", span);
  Merge merge;
  Value tree = a.failed   ? merge.only(b.result, false)
               : b.failed ? merge.only(a.result, true)
                          : merge.tree(a.result, b.result);
  a.piece.outputs = merge.yes;
  b.piece.outputs = merge.no;
  keep_checks(a);
  keep_checks(b);
  if (merge.yes.empty()) {
    if (a.piece.effects.empty() && b.piece.effects.empty()) return tree;
    merge.yes = merge.no = {ops::constant_int(DType::Bool, 1)};  // a node has at least one output
  }
  // The reverse computes the values of the way that was taken again, so that a second derivative would add up what
  // flows to them in another order than interpreted code.
  if (gradient_depth() >= 2 &&
      std::any_of(merge.yes.begin(), merge.yes.end(), [](const Operand& o) { return is_inexact(o.dtype()); }))
    throw Untraceable("a branch on a traced value is differentiated twice", span);
  a.piece.outputs = std::move(merge.yes);
  b.piece.outputs = std::move(merge.no);
  std::vector<Operand> captures;
  ops::GraphPtr first = ops::close(a.piece, captures), second = ops::close(b.piece, captures);
  first = ops::with_captures(first, 0, captures);
  std::vector<Operand> outputs = ops::cond(std::move(predicate), first, second, std::move(captures));
  keep_effects(outputs, {first, second});
  return merge.fill(tree, outputs);
}

Value trace_checkpoint(const std::function<Value()>& f) {
  if (gradient_depth() >= 2) return f();  // as for branches; a tape keeps everything too
  Subtrace t = subtrace({}, f);
  t.piece.outputs = traced_leaves(t.result);
  keep_checks(t);
  if (t.piece.outputs.empty()) {
    auto& effects = TraceContext::current_context()->effects;
    effects.insert(effects.end(), t.piece.effects.begin(), t.piece.effects.end());
    return t.result;
  }
  std::vector<Operand> captures;
  ops::GraphPtr body = ops::close(t.piece, captures);
  std::vector<Operand> outputs = ops::checkpoint(body, captures);
  keep_effects(outputs, {body});
  // What the function gives back as it got it does not go through the node: its gradients are then added where they
  // would be without one.
  for (size_t o = 0; o < outputs.size(); ++o)
    for (size_t i = 0; i < captures.size(); ++i)
      if (body->outputs[o].is_node() && body->outputs[o].node().get() == body->inputs[i].get())
        outputs[o] = captures[i];
  return with_traced_leaves(t.result, outputs);
}

}  // namespace sheaf::trace

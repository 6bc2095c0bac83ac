// Derivatives. The function runs on leaves that stand for the parameters; every op that touches one is put on a tape
// with its value, and the entries' reverse rules walk it. Inside another derivative the adjoints are recorded too, so
// gradients nest to any order.
#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "builtins/arrays/families.h"
#include "builtins/arrays/gradient_watch.h"
#include "builtins/arrays/mixed.h"
#include "builtins/core/numeric.h"
#include "compiler/pipeline.h"
#include "ops/subgraph.h"
#include "support/phases.h"
#include "trace/context.h"
#include "trace/control.h"
#include "trace/jit.h"
#include "transforms/vjp.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::builtins {
namespace {

using trace::gradient_depth;
using trace::to_value;
using transforms::vjp;

struct DepthGuard {
  DepthGuard() { ++gradient_depth(); }
  ~DepthGuard() { --gradient_depth(); }
};

// The leaves that derivatives are taken by. A float that may have more digits than an f32 has a second node in f64, for
// where it meets such arrays: what flows there is added to the first's.
struct Parameters {
  struct Wide {
    size_t leaf;
    Operand node;
  };
  std::vector<Operand> nodes;
  std::vector<Wide> wide;

  void append(const Parameters& more) {
    for (const Wide& w : more.wide)
      wide.push_back({nodes.size() + w.leaf, w.node});
    nodes.insert(nodes.end(), more.nodes.begin(), more.nodes.end());
  }
};

// The adjoints of the parameters; empty where nothing flows.
std::vector<Operand> pull_back(const std::vector<Operand>& y, const std::vector<Operand>& dy, const Parameters& p,
                               bool record) {
  std::vector<Operand> all = p.nodes;
  for (const Parameters::Wide& w : p.wide)
    all.push_back(w.node);
  std::vector<Operand> grads = vjp(y, dy, all, record);
  for (size_t i = 0; i < p.wide.size(); ++i) {
    const Operand& wide = grads[p.nodes.size() + i];
    if (!wide) continue;
    Operand& g = grads[p.wide[i].leaf];
    Operand more = ops::cast(wide, DType::F32);
    g = g ? ops::add(g, more) : more;
  }
  grads.resize(p.nodes.size());
  return grads;
}

// The differentiable leaves of a tree, in depth-first key order.
struct Leaves : Parameters {
  // The tree with every float (and number) replaced by a traced leaf.
  Value trace(const Value& tree) {
    return map_leaves(tree, [&](const Value& v) {
      if (!is_leaf(v)) return v;
      Kind kind = trace::kind_of(v);
      Operand x = trace::operand_of(v);
      // An int parameter is differentiated like a float; the program still sees an int. An i32 tensor becomes f32.
      if (kind != Kind::Tensor || !is_inexact(x.dtype())) x = ops::cast(x, DType::F32);
      Operand digits = kind == Kind::Float ? trace::wide_operand(v) : Operand();
      if (digits) {
        digits = trace::make_leaf(digits);
        wide.push_back({nodes.size(), digits});
      }
      nodes.push_back(trace::make_leaf(x));
      return Value::object(Tag::Traced, new trace::Traced(nodes.back(), kind, digits));
    });
  }

  static bool is_leaf(const Value& v) {
    if (v.is_number()) return true;
    if (!is_tensor_value(v)) return v.is_traced() && trace::kind_of(v) != Kind::Bool;
    DType d = trace::operand_of(v).dtype();
    return is_inexact(d) || d == DType::I32;
  }

  // The tree of adjoints, with zeros where nothing flowed.
  Value rebuild(const Value& tree, const std::vector<Operand>& grads) const {
    size_t next = 0;
    return map_leaves(tree, [&](const Value& v) {
      if (is_leaf(v)) {
        Operand g = grads[next] ? grads[next] : ops::zeros(nodes[next].type());
        ++next;
        return trace::kind_of(v) == Kind::Tensor ? tensor_value(g) : float_value(g);
      }
      if (is_tensor_value(v)) return tensor_value(ops::zeros({DType::F32, trace::operand_of(v).sizes()}));
      return Value::nil();
    });
  }
};

// A leaf's value without its node, when nobody outside records.
Operand released(const Operand& o) {
  return gradient_depth() == 0 && o.is_node() && o.has_value() ? Operand(o.value()) : o;
}

// In a trace nothing has a value yet; what comes out belongs to the graph being made.
Value released_tree(const Value& v) {
  return gradient_depth() == 0 && !trace::TraceContext::current_ref() ? trace::concrete_tree(v) : v;
}

struct Settings {
  std::vector<int64_t> argnums = {0};
  bool single = true;  // the gradient of one argument, not a list
  bool has_aux = false;
  bool value = true;
  std::string who = "value-and-grad";
};

// What a function of the program returned as `[a b …]`, if it is n parts. A vector literal of numbers is a tensor, so
// one of that length stands for its items.
std::optional<std::vector<Value>> parts_of(const Value& v, size_t n) {
  if (v.is_seq() && v.items().size() == n) return v.items_copy();
  if (!is_tensor_value(v)) return std::nullopt;
  Operand o = trace::operand_of(v);
  if (o.rank() == 0 || !(o.size(0) == Size(static_cast<int64_t>(n)))) return std::nullopt;
  std::vector<Value> parts;
  for (size_t i = 0; i < n; ++i)
    parts.push_back(row_value(o, static_cast<int64_t>(i)));
  return parts;
}

Operand scalar_loss(const Value& y, const std::string& who) {
  bool ok = trace::is_numeric(y);
  Operand o;
  if (ok) {
    o = trace::operand_of(y);
    ok = num_elems(o.sizes()) == Size(1);
  }
  if (!ok)
    throw runtime_error(who + ": loss must return a scalar")
        .hint("the function must return a single number, e.g. (sum x) or (mean x); got " + short_text(y));
  if (is_complex(o.dtype()))
    throw runtime_error(who + ": the loss must be real, got a complex number")
        .hint("take (abs z), (real z) or (imag z) of the result; vjp and jvp differentiate complex results");
  if (!is_float(o.dtype())) o = ops::cast(o, DType::F32);
  return ops::reshape(o, {});
}

// Some op between the parameters and the loss has an array among its inputs.
bool works_on_arrays(const Operand& y) {
  if (!y.is_node()) return false;
  for (const graph::Node* n : graph::live_nodes({{}, {y}, {}}))
    for (const Operand& in : n->inputs)
      if (in.rank() > 0) return true;
  return false;
}

Value value_and_grad_now(Caller& caller, const Value& f, const std::vector<Value>& args, const Settings& s,
                         bool* on_arrays = nullptr) {
  if (args.empty()) throw runtime_error(s.who + ": expected at least 1 argument, got 0");
  std::vector<Leaves> leaves(s.argnums.size());
  std::vector<Value> wrt, call_args = args;
  Parameters parameters;
  Value aux;
  Operand y;
  {
    DepthGuard depth;
    for (size_t i = 0; i < s.argnums.size(); ++i) {
      int64_t at = s.argnums[i] < 0 ? s.argnums[i] + static_cast<int64_t>(args.size()) : s.argnums[i];
      if (at < 0 || at >= static_cast<int64_t>(args.size()))
        throw runtime_error(
            fmt::format("{}: argnums {} is out of range for {} arguments", s.who, s.argnums[i], args.size()));
      wrt.push_back(args[at]);
      call_args[at] = leaves[i].trace(args[at]);
      parameters.append(leaves[i]);
    }
    Value result = caller.call(f, std::move(call_args));
    if (s.has_aux) {
      auto parts = parts_of(result, 2);
      if (!parts) throw runtime_error(s.who + ": with :has-aux the function must return [loss aux]");
      result = std::move((*parts)[0]);
      aux = std::move((*parts)[1]);
    }
    y = scalar_loss(result, s.who);
  }
  // Composites are raised first: the reverse of what they are written with would store what they do not.
  std::optional<Phase> phase;
  if (y.is_node() && !y.has_value()) {
    y = compiler::raised({y})[0];
    phase.emplace("vjp");
  }
  std::vector<Operand> grads(parameters.nodes.size());
  if (y.is_node())
    grads = pull_back({y}, {ops::full(y.type(), 1)}, parameters, gradient_depth() > 0 || g_gradient_listener);
  phase.reset();
  if (g_gradient_listener) {
    g_gradient_listener(f, passes_of(y, parameters.nodes, grads));
    for (Operand& g : grads)
      g = released(g);
  }
  trace::note_gradient();
  if (on_arrays) *on_arrays = works_on_arrays(y);
  std::vector<Value> parts;
  size_t offset = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::vector<Operand> mine(grads.begin() + offset, grads.begin() + offset + leaves[i].nodes.size());
    offset += leaves[i].nodes.size();
    parts.push_back(leaves[i].rebuild(wrt[i], mine));
  }
  Value gradient = s.single ? std::move(parts[0]) : Value::list(std::move(parts));
  Value value = float_value(released(y));
  if (s.has_aux) value = Value::list({std::move(value), released_tree(aux)});
  if (!s.value) return s.has_aux ? Value::list({std::move(gradient), value.items()[1]}) : gradient;
  return Value::list({std::move(value), std::move(gradient)});
}

// Through one compiled graph of forward and backward pass when that is possible, else on the tape.
Value value_and_grad(Caller& caller, const Value& f, std::vector<Value>& args, const Settings& s) {
  if (trace::g_jit_enabled && !trace::is_tracing() && gradient_depth() == 0 && f.tag() == Tag::Function) {
    std::vector<Value> roots = {f};
    roots.insert(roots.end(), args.begin(), args.end());
    trace::FunctionKey key{f.as_function()->code_number(),
                           {.kind = trace::Purpose::Gradient,
                            .contractions = mixed_dtype(),
                            .value = s.value,
                            .has_aux = s.has_aux,
                            .single = s.single,
                            .argnums = {s.argnums.begin(), s.argnums.end()}}};
    Value result;
    auto body = [&](std::vector<Value> traced) {
      Value g = std::move(traced[0]);
      traced.erase(traced.begin());
      return value_and_grad_now(caller, g, traced, s);
    };
    if (trace::run_compiled(key, s.who, roots, body, result)) return result;
    if (std::none_of(roots.begin(), roots.end(), trace::holds_tensor)) {
      // Numbers are fitted to data in globals as well: from what they meet the next call knows whether compiling pays.
      bool on_arrays = false;
      result = value_and_grad_now(caller, f, args, s, &on_arrays);
      if (on_arrays) trace::note_arrays(key);
      return result;
    }
  }
  return value_and_grad_now(caller, f, args, s);
}

Settings settings_of(const Call& c, std::string who, bool value) {
  Settings s;
  s.who = std::move(who);
  s.value = value;
  s.has_aux = c.flag("has-aux");
  if (const Value* a = c.option("argnums")) {
    s.argnums = to_ints(*a, s.who);
    s.single = a->is_number();
  }
  return s;
}

Value make_gradient(Call& c, const char* who, bool value) {
  if (!c[0].is_callable()) throw runtime_error(fmt::format("{}: expected a function, got {}", who, short_text(c[0])));
  Settings s = settings_of(c, who, value);
  return native_function(
      who, [f = c[0], s](Caller& caller, std::vector<Value>& args) { return value_and_grad(caller, f, args, s); });
}

// A function run on traced arguments, with its numeric outputs.
struct TracedCall {
  std::vector<Leaves> leaves;
  Parameters parameters;
  Value result;
  std::vector<Operand> outputs;
};

// Appends the numbers and arrays of a tree to `out`, as floats.
void collect_outputs(const Value& tree, std::vector<Operand>& out) {
  each_leaf(tree, [&](const Value& v) {
    if (trace::is_numeric(v)) out.push_back(ops::cast(trace::operand_of(v), float_dtype(trace::operand_of(v).dtype())));
  });
}

TracedCall run_traced(Caller& caller, const Value& f, const std::vector<Value>& args) {
  TracedCall t;
  std::vector<Value> traced;
  for (const Value& a : args) {
    t.leaves.emplace_back();
    traced.push_back(t.leaves.back().trace(a));
    t.parameters.append(t.leaves.back());
  }
  t.result = caller.call(f, std::move(traced));
  collect_outputs(t.result, t.outputs);
  return t;
}

Value rebuild_all(const TracedCall& t, const std::vector<Value>& args, const std::vector<Operand>& grads) {
  std::vector<Value> parts;
  size_t offset = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    std::vector<Operand> mine(grads.begin() + offset, grads.begin() + offset + t.leaves[i].nodes.size());
    offset += mine.size();
    parts.push_back(t.leaves[i].rebuild(args[i], mine));
  }
  return Value::list(std::move(parts));
}

// The result's tree with new numeric leaves.
Value with_outputs(const Value& tree, const std::vector<Operand>& outputs) {
  size_t next = 0;
  return map_leaves(tree, [&](const Value& v) {
    if (!trace::is_numeric(v)) return v;
    const Operand& o = outputs[next++];
    return trace::kind_of(v) == Kind::Tensor ? tensor_value(o) : float_value(o);
  });
}

std::vector<Operand> cotangents(const Value& v, const std::vector<Operand>& outputs, std::string_view who) {
  std::vector<Operand> dy;
  collect_outputs(v, dy);
  bool fits = dy.size() == outputs.size();
  for (size_t i = 0; fits && i < dy.size(); ++i) {
    fits = dy[i].sizes() == outputs[i].sizes();
    if (fits) dy[i] = ops::cast(dy[i], outputs[i].dtype());
  }
  if (!fits)
    throw runtime_error(
        fmt::format("{}: the cotangent must have the structure and shapes of the function's result", who));
  return dy;
}

// (vjp f x …) -> [result pullback]; (pullback dy) -> list of adjoints, one per argument.
Value vjp_function(Call& c) {
  std::vector<Value> args(c.args.begin() + 1, c.args.end());
  auto t = std::make_shared<TracedCall>();
  {
    DepthGuard depth;
    *t = run_traced(c.caller, c[0], args);
  }
  std::vector<Operand> plain;
  for (const Operand& o : t->outputs)
    plain.push_back(released(o));
  Value result = with_outputs(t->result, plain);
  Value pullback = native_function("pullback", [t, args](Caller&, std::vector<Value>& dy) {
    std::vector<Operand> g =
        pull_back(t->outputs, cotangents(dy.size() == 1 ? dy[0] : Value::list(dy), t->outputs, "vjp"), t->parameters,
                  gradient_depth() > 0);
    return rebuild_all(*t, args, g);
  });
  return Value::list({std::move(result), std::move(pullback)});
}

// Forward mode from reverse mode: the pullback is linear in its cotangent, and its transpose is the push-forward.
Value jvp_function(Call& c) {
  std::vector<Value> primals = c[1].is_seq() ? c[1].items_copy() : std::vector<Value>{c[1]};
  std::vector<Value> tangents = c[2].is_seq() ? c[2].items_copy() : std::vector<Value>{c[2]};
  TracedCall t;
  std::vector<Operand> dual, pulled;
  {
    DepthGuard depth;
    t = run_traced(c.caller, c[0], primals);
    for (const Operand& o : t.outputs)
      dual.push_back(trace::make_leaf(ops::zeros(o.type())));
    pulled = pull_back(t.outputs, dual, t.parameters, true);
  }
  std::vector<Operand> flat;
  for (const Value& v : tangents)
    collect_outputs(v, flat);
  const std::vector<Operand>& nodes = t.parameters.nodes;
  bool fits = flat.size() == nodes.size();
  for (size_t i = 0; fits && i < flat.size(); ++i)
    fits = flat[i].sizes() == nodes[i].sizes();
  if (!fits) throw runtime_error("jvp: the tangents must have the structure and shapes of the primals");
  std::vector<Operand> y, dy;
  for (size_t i = 0; i < pulled.size(); ++i) {
    if (!pulled[i] || !pulled[i].is_node()) continue;
    y.push_back(pulled[i]);
    dy.push_back(ops::cast(flat[i], pulled[i].dtype()));
  }
  std::vector<Operand> pushed = vjp(y, dy, dual, gradient_depth() > 0);
  for (size_t i = 0; i < pushed.size(); ++i)
    if (!pushed[i]) pushed[i] = ops::zeros(dual[i].type());
  std::vector<Operand> plain;
  for (const Operand& o : t.outputs)
    plain.push_back(released(o));
  Value value = with_outputs(t.result, plain);
  return Value::list({std::move(value), with_outputs(t.result, pushed)});
}

// d y / d x for every leaf x of the argument: the axes of y, then those of x. A row is the pullback of one element of
// y.
std::vector<Value> jacobian_rows(const Operand& y, const Parameters& parameters) {
  const std::vector<Operand>& nodes = parameters.nodes;
  int64_t n = num_elems(y.sizes()).value();
  std::vector<std::vector<Operand>> rows(nodes.size());
  for (int64_t i = 0; i < n; ++i) {
    Tensor unit = zeros_tensor(y.dtype(), {n});
    store_double(y.dtype(), unit.bytes_mut() + i * size_bytes(y.dtype()), 1);
    std::vector<Operand> g(nodes.size());
    if (y.is_node()) g = pull_back({y}, {ops::reshape(Operand(unit), y.sizes())}, parameters, gradient_depth() > 0);
    for (size_t k = 0; k < nodes.size(); ++k)
      rows[k].push_back(ops::expand_axis(g[k] ? g[k] : ops::zeros(nodes[k].type()), 0));
  }
  std::vector<Value> parts;
  for (size_t k = 0; k < nodes.size(); ++k) {
    Sizes sizes = y.sizes();
    for (Size s : nodes[k].sizes())
      sizes.push_back(s);
    Operand j = n == 0 ? ops::zeros({y.dtype(), sizes}) : ops::reshape(ops::concat(std::move(rows[k]), 0), sizes);
    parts.push_back(sizes.empty() ? float_value(j) : tensor_value(j));
  }
  return parts;
}

// As in JAX: the tree of the result, with the tree of the first argument in place of every leaf.
Value jacobian_of(Caller& caller, const Value& f, std::vector<Value>& args) {
  if (args.empty()) throw runtime_error("jacobian: expected at least 1 argument, got 0");
  TracedCall t;
  {
    DepthGuard depth;
    std::vector<Value> first = {args[0]};
    std::vector<Value> rest(args.begin() + 1, args.end());
    Value g = native_function("jacobian", [f, rest](Caller& c, std::vector<Value>& x) {
      std::vector<Value> all = {x[0]};
      all.insert(all.end(), rest.begin(), rest.end());
      return c.call(f, std::move(all));
    });
    t = run_traced(caller, g, first);
  }
  if (t.parameters.nodes.empty())
    throw runtime_error("jacobian: cannot differentiate with respect to " + short_text(args[0]));
  if (t.outputs.empty())
    throw runtime_error("jacobian: the function must return a number, a tensor or a tree of them, got " +
                        short_text(t.result));
  size_t output = 0;
  return map_leaves(t.result, [&](const Value& y) {
    if (!trace::is_numeric(y)) return Value::nil();
    std::vector<Value> parts = jacobian_rows(t.outputs[output++], t.parameters);
    size_t leaf = 0;
    return map_leaves(args[0], [&](const Value& x) { return Leaves::is_leaf(x) ? parts[leaf++] : Value::nil(); });
  });
}

Value jacobian(Call& c) {
  return native_function("jacobian",
                         [f = c[0]](Caller& caller, std::vector<Value>& args) { return jacobian_of(caller, f, args); });
}

Value hessian(Call& c) {
  Settings s;
  s.who = "hessian";
  s.value = false;
  Value inner = native_function(
      "grad", [f = c[0], s](Caller& caller, std::vector<Value>& args) { return value_and_grad(caller, f, args, s); });
  return native_function(
      "hessian", [inner](Caller& caller, std::vector<Value>& args) { return jacobian_of(caller, inner, args); });
}

// One adjoint for each argument; those that are not numbers say that nothing flows.
std::vector<Operand> adjoints_of(const Value& g, size_t num_args) {
  std::optional<std::vector<Value>> parts =
      num_args == 1 && !g.is_seq() ? std::vector<Value>{g} : parts_of(g, num_args);
  if (!parts)
    throw runtime_error(
        fmt::format("custom-vjp: the backward function must return one adjoint for each of the {} arguments", num_args))
        .hint("it returned " + short_text(g));
  std::vector<Operand> out;
  for (const Value& v : *parts)
    out.push_back(trace::is_numeric(v) ? trace::operand_of(v) : Operand());
  return out;
}

// (custom-vjp f forward backward): forward gives [result residuals], backward gives the arguments' adjoints from the
// residuals and the result's adjoint. The node's inputs are the result, the arguments, and what the residuals hold of
// the graph, so that the rule still finds them when the node is copied (the body of a loop is).
Value custom_vjp(Call& c) {
  Value f = c[0], forward = c[1], backward = c[2];
  return native_function("custom-vjp", [f, forward, backward](Caller& caller, std::vector<Value>& args) -> Value {
    bool traced = false;
    for (const Value& a : args)
      traced |= Leaves::is_leaf(a) && a.is_traced();
    if (!traced || gradient_depth() == 0) return caller.call(f, args);
    std::vector<Operand> inputs = {Operand()};
    std::vector<Value> plain;
    for (const Value& a : args) {
      if (!trace::is_numeric(a))
        throw runtime_error("custom-vjp: arguments must be numbers or tensors where a gradient is taken");
      inputs.push_back(trace::operand_of(a));
      // Only a derivative of this derivative asks where the residuals came from.
      plain.push_back(gradient_depth() == 1 && inputs.back().has_value() ? trace::concrete(a) : a);
    }
    Value pair = caller.call(forward, plain);
    auto parts = parts_of(pair, 2);
    if (!parts)
      throw runtime_error("custom-vjp: the forward function must return [result residuals]")
          .hint("it returned " + short_text(pair));
    Value result = (*parts)[0], residuals = (*parts)[1];
    if (!trace::is_numeric(result)) throw runtime_error("custom-vjp: the result must be a number or a tensor");
    inputs[0] = trace::operand_of(result);
    for (Operand& o : trace::traced_leaves(residuals))
      inputs.push_back(std::move(o));
    Kind kind = trace::kind_of(result);
    Caller* from = &caller;
    size_t num_args = args.size();
    auto rule = std::make_shared<const graph::CustomVjp>(
        [from, backward, residuals, kind, num_args](std::span<const Operand> in, const std::vector<Operand>& dy) {
          Value known = trace::with_traced_leaves(residuals, in.subspan(1 + num_args));
          std::vector<Operand> out = adjoints_of(
              from->call(backward, {known, kind == Kind::Tensor ? tensor_value(dy[0]) : float_value(dy[0])}), num_args);
          out.insert(out.begin(), Operand());
          return out;
        });
    return to_value(ops::custom(std::move(inputs), std::move(rule), trace::current_span()), kind);
  });
}

// Only compiled code has intermediate results to save; a tape keeps what it has computed.
Value make_checkpoint(Call& c) {
  if (!c[0].is_callable())
    throw runtime_error(fmt::format("checkpoint: expected a function, got {}", short_text(c[0])));
  return native_function("checkpoint", [f = c[0]](Caller& caller, std::vector<Value>& args) {
    if (!trace::is_tracing()) return caller.call(f, std::move(args));
    return trace::trace_checkpoint([&] { return caller.call(f, args); });
  });
}

// Of a whole tree: each traced leaf.
Value stop_gradient(Call& c) {
  return map_leaves(c[0], [](const Value& v) -> Value {
    if (!v.is_traced()) return v;
    Operand wide = trace::wide_operand(v);
    return to_value(ops::apply1("stop_gradient", trace::operand_of(v)), trace::kind_of(v),
                    wide ? ops::apply1("stop_gradient", wide) : wide);
  });
}

const BuiltinDef kBuiltins[] = {
    {"value-and-grad",
     "Derivatives",
     "(value-and-grad f [:argnums i] [:has-aux])",
     "A function of the arguments of f that gives [value gradient]. The result of f must be one number. The gradient "
     "is "
     "by the first argument, with its structure, or a list of those by :argnums.",
     {{"((value-and-grad (fn [x] (* x x))) 3.0)", "[9.0, 6.0]"},
      {"((value-and-grad (fn [p x] (* (:w p) x))) {:w 2.0} 5.0)", "[10.0, {:w 5.0}]"},
      {"((value-and-grad (fn [a b] (* a b)) :argnums [0 1]) 2.0 5.0)", "[10.0, [5.0, 2.0]]"}},
     1,
     1,
     [](Call& c) { return make_gradient(c, "value-and-grad", true); },
     "argnums has-aux"},
    {"grad",
     "Derivatives",
     "(grad f [:argnums i] [:has-aux])",
     "A function that gives the gradient of f by its first argument, or those of :argnums; nests to any order.",
     {{"((grad (fn [x] (** x 3))) 2.0)", "12.0"}, {"((grad (grad (fn [x] (** x 3)))) 2.0)", "12.0"}},
     1,
     1,
     [](Call& c) { return make_gradient(c, "grad", false); },
     "argnums has-aux"},
    {"vjp",
     "Derivatives",
     "(vjp f x …)",
     "[result pullback]: (pullback dy) gives the list of adjoints of the arguments.",
     {{"(let [[y back] (vjp (fn [a b] (* a b)) 3.0 4.0)] (back 1.0))", "[4.0, 3.0]"}},
     2,
     -1,
     vjp_function},
    {"jvp",
     "Derivatives",
     "(jvp f primals tangents)",
     "[result tangent]: the derivative of f along a direction.",
     {{"(jvp (fn [x] (* x x)) '[3.0] '[1.0])", "[9.0, 6.0]"}},
     3,
     3,
     jvp_function},
    {"jacobian",
     "Derivatives",
     "(jacobian f)",
     "A function that gives the matrix of partial derivatives by the first argument: the result's axes, then the "
     "argument's. Of trees: the result's tree, with the argument's at each leaf.",
     {{"((jacobian (fn [x] (* x x))) [1 2])", "[[2. 0.]\n [0. 4.]]"},
      {"((jacobian (fn [p] (* (get p :a) [1 2]))) {:a 3.0})", "{:a [1. 2.]}"}},
     1,
     1,
     jacobian},
    {"hessian",
     "Derivatives",
     "(hessian f)",
     "A function that gives the matrix of second derivatives of a scalar function; of a tree a tree of trees.",
     {{"((hessian (fn [x] (sum (** x 3)))) [1 2])", "[[6.  0.]\n [0. 12.]]"}},
     1,
     1,
     hessian},
    {"checkpoint",
     "Derivatives",
     "(checkpoint f)",
     "f, marked so that its intermediate results may be computed again in the backward pass instead of kept.",
     {{"((grad (checkpoint (fn [x] (* x x)))) 3.0)", "6.0"}},
     1,
     1,
     make_checkpoint},
    {"custom-vjp",
     "Derivatives",
     "(custom-vjp f forward backward)",
     "f with a derivative of its own: (forward args…) gives [result residuals], (backward residuals dy) the list of "
     "adjoints.",
     {{"((grad (custom-vjp (fn [x] (* x x)) (fn [x] [(* x x) {:x x}]) (fn [r dy] (list (* dy 10.0))))) 3.0)", "10.0"}},
     3,
     3,
     custom_vjp},
    {"stop-gradient",
     "Derivatives",
     "(stop-gradient x)",
     "x itself; its derivative counts as zero.",
     {{"((grad (fn [x] (* x (stop-gradient x)))) 3.0)", "3.0"}},
     1,
     1,
     stop_gradient,
     {},
     Effect::None,
     "stop-gradient: expected 1 argument, got {}"},
};

}  // namespace

std::span<const BuiltinDef> gradient_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

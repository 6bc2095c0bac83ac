// Traces the function for one example and applies the graph to the whole batch by the ops' batching rules. If tracing
// or batching fails (branches on data, effects), runs once per example and stacks the results.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "builtins/arrays/families.h"
#include "builtins/core/elements.h"
#include "trace/checks.h"
#include "trace/context.h"
#include "transforms/batch.h"
#include "value/print.h"
#include "value/tree.h"

namespace sheaf::builtins {
namespace {

// The mapped axis: one for each argument in order, and `rest` for those that follow.
struct Axes {
  std::vector<std::optional<int64_t>> each;
  std::optional<int64_t> rest = 0;
  bool is_list = false;  // the list must cover every argument

  std::optional<int64_t> of(size_t argument) const { return argument < each.size() ? each[argument] : rest; }
};

Axes parse_axes(const Value& value) {
  Value v = trace::concrete_tree(value);
  Axes axes;
  if (v.is_seq() || (v.is_tensor() && v.as_tensor().rank() == 1)) {
    axes.is_list = v.is_seq();
    for (const Value& a : Elements(v, "vmap").all())
      axes.each.push_back(a.is_nil() ? std::nullopt : std::optional(to_index(a, "vmap: axis")));
    return axes;
  }
  axes.rest = v.is_nil() ? std::nullopt : std::optional(to_index(v, "vmap: axis"));
  return axes;
}

// One argument of a batched call: a tensor or a tree of them, and the axis along which they are mapped; without one the
// argument is passed whole.
struct Argument {
  Value value;
  std::optional<int64_t> axis;

  // The value with each mapped tensor replaced by make(tensor, axis).
  template <class F>
  Value with_tensors(F&& make) const {
    if (!axis) return value;
    return map_leaves(value, [&](const Value& v) {
      if (!is_tensor_value(v)) return v;
      Operand x = trace::operand_of(v);
      return make(x, ops::check_axis(*axis, x.rank()));
    });
  }

  Value at(int64_t i) const {
    return with_tensors([&](const Operand& x, int along) {
      if (along == 0 && !x.is_node()) return Value::tensor(select_axis0(x.value(), i));
      return tensor_value(ops::squeeze_axis(ops::slice_axis(x, along, i, 1), along));
    });
  }
};

// Stacks tensors of one shape in their common dtype; a number or bool counts as one of rank 0 with its dtype. Else
// returns the list itself. Numbers and 0-d tensors must give equal results: a batched body cannot distinguish them.
Value stack_results(std::vector<Value> results) {
  std::vector<Operand> parts;
  for (const Value& v : results) {
    if (!trace::is_numeric(v)) return Value::list(std::move(results));
    parts.push_back(trace::operand_of(v));
    if (!(parts.back().sizes() == parts[0].sizes())) return Value::list(std::move(results));
  }
  return parts.empty() ? Value::list({}) : stack_operands(parts);
}

// The results of one example as a tree, with the batched leaves in place.
struct BatchedTree {
  std::vector<transforms::Batched> leaves;
  int64_t batch;

  Operand full(size_t i) const {
    if (leaves[i].batched) return leaves[i].value;
    Sizes s = leaves[i].value.sizes();
    s.insert(s.begin(), Size(batch));
    return ops::broadcast_to(leaves[i].value, s);
  }

  // The tree of one example.
  Value row(const Value& tree, int64_t b) const {
    size_t next = 0;
    return map_leaves(tree, [&](const Value& v) {
      if (!v.is_traced()) return v;
      const transforms::Batched& leaf = leaves[next++];
      Operand x = leaf.batched ? ops::squeeze_axis(ops::slice_axis(leaf.value, 0, b, 1), 0) : leaf.value;
      return trace::to_value(x, trace::kind_of(v));
    });
  }
};

// True if a result for one example can be computed for the whole batch at once.
bool can_be_batched(const Value& result) {
  return all_leaves(result,
                    [](const Value& v) { return !v.is_callable() && v.tag() != Tag::Opaque && v.tag() != Tag::Atom; });
}

// Computes all examples at once; returns nothing if the function does not allow it.
std::optional<Value> run_at_once(Caller& caller, const Value& f, const std::vector<Argument>& arguments, int64_t n) {
  graph::Graph g;
  std::vector<transforms::Batched> inputs;
  std::vector<Value> example;
  for (const Argument& a : arguments)
    example.push_back(a.with_tensors([&](const Operand& x, int along) {
      std::vector<int> perm = {along};
      for (int i = 0; i < x.rank(); ++i)
        if (i != along) perm.push_back(i);
      Operand batch = ops::transpose(x, perm);
      Sizes sizes = batch.sizes();
      sizes.erase(sizes.begin());
      auto node = make_ref<graph::Node>(&ops::op("input"), graph::Attrs{}, std::vector<Operand>{},
                                        std::vector<graph::TensorType>{{batch.dtype(), sizes}});
      g.inputs.push_back(node);
      inputs.push_back({batch, true});
      return tensor_value(Operand(node, 0));
    }));
  try {
    Value result;
    std::vector<Ref<graph::Node>> checked;
    {
      trace::TraceContext context;
      context.takes_globals = false;
      context.parameters = g.inputs;
      trace::TraceContext::Use use(context);
      result = caller.call(f, std::move(example));
      if (!context.effects.empty()) return std::nullopt;  // must run example by example
      checked = std::move(context.checked);
    }
    if (n == 0 && !result.is_traced() && trace::is_numeric(result)) {  // the same for every example: there is none
      Tensor one = trace::operand_of(result).value();
      one.sizes.insert(one.sizes.begin(), 0);
      return Value::tensor(empty_tensor(one.dtype, std::move(one.sizes)));
    }
    if (!can_be_batched(result)) return std::nullopt;
    g.outputs = trace::traced_leaves(result);
    for (auto& check : trace::unused_checks(checked, g))
      g.outputs.emplace_back(std::move(check), 0);
    BatchedTree tree{transforms::batch_graph(g, inputs, n), n};
    if (result.is_traced()) {
      Operand all = tree.full(0);
      return tensor_value(trace::kind_of(result) == Kind::Float ? ops::cast(all, DType::F32) : all);
    }
    std::vector<Value> rows;
    for (int64_t b = 0; b < n; ++b)
      rows.push_back(tree.row(result, b));
    return stack_results(std::move(rows));
  } catch (const trace::Untraceable&) {
    return std::nullopt;
  } catch (const transforms::NotBatchable&) {
    return std::nullopt;
  } catch (const UserError& e) {
    if (e.message.starts_with("recursion too deep")) throw;  // retrying at each depth would double the work each time
    return std::nullopt;  // the loop below raises the error at the right example, or does not
  }
}

Value run_batch(Caller& caller, const Value& f, const Axes& axes, std::vector<Value>& args) {
  if (axes.is_list && axes.each.size() < args.size())
    throw runtime_error(fmt::format("vmap: {} arguments, but axes for {}", args.size(), axes.each.size()))
        .hint("axes is a number for all of them, or has one entry for each; nil passes an argument whole");
  // Next to a mapped tensor, a tree is passed whole, like the parameters of a model; without any mapped tensor, the
  // trees' tensors are mapped.
  bool any_tensor = false;
  for (size_t i = 0; i < args.size(); ++i)
    any_tensor |= axes.of(i) && is_tensor_value(args[i]);
  std::vector<Argument> arguments;
  int64_t n = -1;
  for (size_t i = 0; i < args.size(); ++i) {
    bool whole = any_tensor && !is_tensor_value(args[i]);
    arguments.push_back({std::move(args[i]), whole ? std::nullopt : axes.of(i)});
    arguments.back().with_tensors([&](const Operand& x, int along) {
      int64_t length = x.size(along).value();
      if (n >= 0 && n != length)
        throw runtime_error(fmt::format("vmap: mapped arguments have different lengths: {} and {}", n, length));
      n = length;
      return Value::nil();
    });
  }
  if (n < 0) throw runtime_error("vmap: at least one argument must be a mapped tensor");
  if (n != 1)  // with no examples this is the only way to get the shape of the result
    if (auto all = run_at_once(caller, f, arguments, n)) return std::move(*all);
  std::vector<Value> results = empty_list(n);
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Value> example;
    example.reserve(arguments.size());
    for (const Argument& a : arguments)
      example.push_back(a.at(i));
    results.push_back(caller.call(f, std::move(example)));
  }
  return stack_results(std::move(results));
}

Value make_vmap(Call& c) {
  Axes axes = c.size() > 1 ? parse_axes(c[1]) : Axes{};
  return native_function("vmap", [f = std::move(c[0]), axes](Caller& caller, std::vector<Value>& args) {
    return run_batch(caller, f, axes, args);
  });
}

const BuiltinDef kBuiltins[] = {
    {.name = "vmap",
     .category = "Higher-order functions",
     .signature = "(vmap f [axes])",
     .doc =
         "A function that applies f to every slice of its tensor arguments and stacks the results on a new axis 0: "
         "tensors, floats (f32), ints (i64) and bools; of anything else it gives a list. axes says which axis of each "
         "argument is sliced (default 0): a number for all, or one entry for each argument, nil to pass it whole. "
         "Arguments beyond a vector of numbers have axis 0. A dict or list is passed whole beside a mapped tensor; "
         "where "
         "there is none, the tensors in it are mapped.",
     .examples = {{"((vmap (fn [r] (sum r))) [[1 2] [3 4]])", "[3. 7.]"},
                  {"((vmap (fn [r] (> (sum r) 4))) [[1 2] [3 4]])", "[false true]"},
                  {"((vmap argmax) [[1 2] [4 3]])", "[1 0]"},
                  {"((vmap (fn [r k] (* k (sum r))) [0 nil]) [[1 2] [3 4]] 10)", "[30. 70.]"}},
     .min_args = 1,
     .max_args = 2,
     .run = make_vmap,
     .arity_text = "vmap requires 1 or 2 arguments: (vmap fn [axes])"},
};

}  // namespace

std::span<const BuiltinDef> vmap_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

// Runs the function once for each example and stacks the results.
#include "builtins/vmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "builtins/elements.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

// The axis that is sliced, for each argument; the single entry of `all` for every argument when axes is a number.
struct Axes {
  std::optional<int64_t> all = 0;
  std::vector<std::optional<int64_t>> each;
  bool per_argument = false;

  std::optional<int64_t> of(size_t argument) const {
    if (!per_argument) return all;
    return argument < each.size() ? each[argument] : std::nullopt;
  }
};

Axes parse_axes(const Value& value) {
  Value v = trace::concrete_tree(value);
  Axes axes;
  if (v.is_seq() || (v.is_tensor() && v.as_tensor().rank() == 1)) {
    axes.per_argument = true;
    for (const Value& a : Elements(v, "vmap").all())
      axes.each.push_back(a.is_nil() ? std::nullopt : std::optional(to_index(a, "vmap: axis")));
    return axes;
  }
  axes.all = v.is_nil() ? std::nullopt : std::optional(to_index(v, "vmap: axis"));
  return axes;
}

// One argument of a batched call: a tensor and the axis it is sliced along, or a value passed whole.
struct Argument {
  Value whole;
  Operand mapped;
  int axis = -1;

  Value at(int64_t i) const {
    if (axis < 0) return whole;
    if (axis == 0 && !mapped.is_node()) return Value::tensor(select_axis0(mapped.value(), i));
    return tensor_value(ops::squeeze_axis(ops::slice_axis(mapped, axis, i, 1), axis));
  }
};

// All tensors of one shape: stacked; all numbers: a rank-1 f32 tensor; else the list itself.
Value stack_results(std::vector<Value> results) {
  auto is_scalar_number = [](const Value& v) {
    return trace::is_numeric(v) && (trace::kind_of(v) == Kind::Int || trace::kind_of(v) == Kind::Float);
  };
  bool tensors = std::all_of(results.begin(), results.end(), is_tensor_value);
  bool numbers = std::all_of(results.begin(), results.end(), is_scalar_number);
  return tensors || numbers ? stack_trees(std::move(results)) : Value::list(std::move(results));
}

Value run_batch(Caller& caller, const Value& f, const Axes& axes, std::vector<Value>& args) {
  std::vector<Argument> arguments;
  int64_t n = -1;
  for (size_t i = 0; i < args.size(); ++i) {
    Argument a;
    auto axis = axes.of(i);
    if (!axis || !is_tensor_value(args[i])) {
      a.whole = std::move(args[i]);
    } else {
      a.mapped = trace::operand_of(args[i]);
      a.axis = ops::check_axis(*axis, a.mapped.rank());
      int64_t length = axis_length(a.mapped, a.axis, "vmap");
      if (n >= 0 && n != length) throw runtime_error(fmt::format("vmap: mapped arguments have different lengths: {} and {}", n, length));
      n = length;
    }
    arguments.push_back(std::move(a));
  }
  if (n < 0) throw runtime_error("vmap: at least one argument must be a mapped tensor");
  std::vector<Value> results;
  results.reserve(n);
  for (int64_t i = 0; i < n; ++i) {
    std::vector<Value> example;
    example.reserve(arguments.size());
    for (const Argument& a : arguments) example.push_back(a.at(i));
    results.push_back(caller.call(f, std::move(example)));
  }
  return stack_results(std::move(results));
}

}  // namespace

Value make_vmap(Call& c) {
  Axes axes = c.size() > 1 ? parse_axes(c[1]) : Axes{};
  return native_function("vmap", [f = std::move(c[0]), axes](Caller& caller, std::vector<Value>& args) { return run_batch(caller, f, axes, args); });
}

}  // namespace sheaf::builtins

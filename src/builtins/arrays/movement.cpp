// Moves elements without changing them: reshaping, slicing, joining, padding; and elementwise selection.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "builtins/core/text.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using ops::operator/;

Value reshape(Call& c) {
  Operand x = trace::kind_of(c[0]) == Kind::Int ? in_dtype(num(c[0]), DType::I32) : as_array(c[0], "reshape");
  Sizes want = to_shape(c[1], "reshape", true);
  Size total = num_elems(x.sizes()), given = 1;
  for (Size d : want)
    if (d >= Size(0)) given = given * d;
  Size inferred = given == Size(0) ? Size(0) : floor_div(total, given);
  Sizes sizes;
  for (Size d : want)
    sizes.push_back(d < Size(0) ? inferred : d);
  Size count = num_elems(sizes);
  if (!(count == total)) {
    UserError e = runtime_error(fmt::format("Cannot reshape: input has {} elements, but target shape {} expects {}.",
                                            total.str(), shape_text(sizes), count.str()));
    auto missing = std::count_if(want.begin(), want.end(), [](Size d) { return d < Size(0); });
    if (missing > 1) e.hints.push_back("one size at most can be inferred");
    if (missing == 1)
      e.hints.push_back(fmt::format("-1 cannot be inferred: {} is not a multiple of {}, the product of the other sizes",
                                    total.str(), given.str()));
    throw e;
  }
  return tensor_value(ops::reshape(x, sizes));
}

std::vector<int> identity_perm(int rank) {
  std::vector<int> p(rank);
  std::iota(p.begin(), p.end(), 0);
  return p;
}

Value transpose(Call& c) {
  Operand x = tensor_operand(c[0], "transpose");
  int rank = x.rank();
  if (rank < 2) return std::move(c[0]);
  std::vector<int> perm = identity_perm(rank);
  if (rank == 2 || c.size() < 2 || c[1].is_nil()) {
    std::reverse(perm.begin(), perm.end());
    return tensor_value(ops::transpose(x, perm));
  }
  perm.clear();
  for (int64_t a : to_ints(c[1], "transpose")) {
    int64_t axis = a < 0 ? a + rank : a;
    if (axis < 0 || axis >= rank)
      throw runtime_error(fmt::format("transpose: axis {} out of bounds for {}D tensor", a, rank));
    perm.push_back(static_cast<int>(axis));
  }
  std::vector<int> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity_perm(rank))
    throw runtime_error(fmt::format("transpose: every axis of a {}D tensor must be named once", rank));
  return tensor_value(ops::transpose(x, perm));
}

Value swapaxes(Call& c) {
  Operand x = tensor_operand(c[0], "swapaxes");
  if (x.rank() < 2)
    throw runtime_error(fmt::format("swapaxes: expected a tensor with at least 2 axes, got {}D", x.rank()));
  std::vector<int> perm = identity_perm(x.rank());
  std::swap(perm[ops::check_axis(to_index(c[1], "swapaxes"), x.rank())],
            perm[ops::check_axis(to_index(c[2], "swapaxes"), x.rank())]);
  return tensor_value(ops::transpose(x, perm));
}

// Moves the axes `from` to positions `to`; the others keep their order.
Value moveaxis(Call& c) {
  Operand x = tensor_operand(c[0], "moveaxis");
  std::vector<int64_t> from = to_ints(c[1], "moveaxis"), to = to_ints(c[2], "moveaxis");
  if (from.size() != to.size())
    throw runtime_error(fmt::format("moveaxis: {} axes to {} places", from.size(), to.size()));
  int rank = x.rank();
  std::vector<int> perm(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < from.size(); ++i) {
    int source = ops::check_axis(from[i], rank), place = ops::check_axis(to[i], rank);
    if (moved[source] || perm[place] >= 0) throw runtime_error("moveaxis: the same axis is given twice");
    moved[source] = true;
    perm[place] = source;
  }
  int next = 0;
  for (int& p : perm) {
    if (p >= 0) continue;
    while (moved[next])
      ++next;
    p = next++;
  }
  return tensor_value(ops::transpose(x, perm));
}

// A position along an axis; a negative one counts from the end.
Size position(const Value& v, std::string_view who, std::string_view what, int axis, Size size) {
  Size given = to_size(v, who), at = given < Size(0) ? given + size : given;
  if (at < Size(0))
    throw runtime_error(
        fmt::format("{}: {} ({}) out of bounds for axis {} with size {}", who, what, given.str(), axis, size.str()));
  return at;
}

void check_bounds(std::string_view who, Size start, Size end, int axis, Size size) {
  if (start > end) throw runtime_error(fmt::format("{}: start ({}) > end ({})", who, start.str(), end.str()));
  if (end > size)
    throw runtime_error(
        fmt::format("{}: end ({}) out of bounds for axis {} with size {}", who, end.str(), axis, size.str()));
}

Value slice_string(Call& c) {
  const std::string& s = c[0].as_string();
  int64_t size = static_cast<int64_t>(s.size()), start = position(c[1], "slice", "start", 0, size).value(), end = size;
  if (c.size() > 2 && !c[2].is_nil()) end = std::min(position(c[2], "slice", "end", 0, size).value(), size);
  check_bounds("slice", start, end, 0, size);
  auto inside_character = [&](int64_t at) { return at < size && (static_cast<unsigned char>(s[at]) & 0xC0) == 0x80; };
  for (int64_t at : {start, end})
    if (inside_character(at)) throw runtime_error(fmt::format("slice: byte {} is inside a character", at));
  return Value::string(s.substr(start, end - start));
}

Value slice(Call& c) {
  if (c[0].is_string()) return slice_string(c);
  Operand x = tensor_operand(c[0], "slice");
  int axis = axis_option(c, x.rank()).value_or(0);
  ops::check_axis(axis, x.rank());
  Size size = x.size(axis), start = position(c[1], "slice", "start", axis, size), end = size;
  if (c.size() > 2 && !c[2].is_nil()) end = position(c[2], "slice", "end", axis, size);
  check_bounds("slice", start, end, axis, size);
  return tensor_value(slice_range(x, axis, start, end));
}

Value dynamic_slice(Call& c) {
  Operand x = tensor_operand(c[0], "dynamic-slice");
  ops::check_axis(0, x.rank());
  Size start = to_count(c[1], "dynamic-slice"), end = to_count(c[2], "dynamic-slice") + Size(1);
  check_bounds("dynamic-slice", start, end, 0, x.size(0));
  return tensor_value(slice_range(x, 0, start, end));
}

// Tensors and numeric lists concatenate to a tensor if there is a tensor or an :axis; otherwise the first argument
// selects text or a list.
Value concat(Call& c) {
  auto joins = [](const Value& v) {
    return is_tensor_value(v) || is_numeric_list(v) || (v.is_list() && v.items().empty());
  };
  bool arrays = c.option("axis") || std::any_of(c.args.begin(), c.args.end(), is_tensor_value);
  if (arrays && std::all_of(c.args.begin(), c.args.end(), joins)) {
    std::vector<Operand> parts;
    for (const Value& v : c.args)
      if (is_tensor_value(v) || !v.items().empty()) parts.push_back(array_operand(v, "concat", DType::I32));
    if (parts.empty()) return std::move(c[0]);
    int axis = axis_option(c, parts[0].rank()).value_or(0);
    ops::check_axis(axis, parts[0].rank());
    return tensor_value(join_arrays(std::move(parts), axis, "concat"));
  }
  if (c[0].is_string()) return joined_text(c.args);
  if (!c[0].is_list()) {
    const Value* odd = &c[0];
    for (const Value& v : c.args)
      if (!is_tensor_value(v) && !is_numeric_list(v)) odd = &v;
    throw runtime_error(fmt::format("concat: expected tensors, lists or strings, got {}", short_text(*odd)))
        .hint("(append x v) adds one element");
  }
  Value out = std::move(c[0]);
  Items& items = out.mutable_items();
  for (size_t i = 1; i < c.size(); ++i) {
    if (c[i].is_list())
      items.append(c[i].items());
    else
      items.push_back(c[i]);
  }
  return out;
}

Value stack(Call& c) {
  // A single tensor is the sequence of its rows, already stacked on axis 0.
  if (c.size() == 1 && is_tensor_value(c[0]) && num(c[0]).x.rank() > 0) {
    Operand x = num(c[0]).x;
    std::vector<int> perm(x.rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + axis_option(c, x.rank()).value_or(0) + 1);
    return tensor_value(ops::transpose(x, perm));
  }
  std::vector<Operand> parts;
  auto add = [&](const Value& v) { parts.push_back(array_operand(v, "stack")); };
  if (c[0].is_seq() && c.size() == 1)
    for (const Value& v : c[0].items())
      add(v);
  else
    for (const Value& v : c.args)
      add(v);
  if (parts.empty()) throw runtime_error("stack: nothing to stack");
  int axis = axis_option(c, parts[0].rank() + 1).value_or(0);
  return tensor_value(stack_arrays(std::move(parts), axis, "stack"));
}

Value cut(const Operand& x, int axis, const std::vector<Size>& ends) {
  std::vector<Value> out;
  Size at = 0;
  for (Size end : ends) {
    Size next = end < at ? at : end;
    out.push_back(tensor_value(slice_range(x, axis, at, next)));
    at = next;
  }
  return Value::list(std::move(out));
}

template <const char* kWho>
Value split(Call& c) {
  Operand x = tensor_operand(c[0], kWho);
  int axis = axis_option(c, x.rank()).value_or(0);
  ops::check_axis(axis, x.rank());
  Size size = x.size(axis);
  std::vector<Size> ends;
  if (c[1].is_seq() || (is_tensor_value(c[1]) && trace::operand_of(c[1]).rank() > 0)) {
    for (Size e : to_shape(c[1], kWho, true)) {
      Size end = e < Size(0) ? e + size : e;
      ends.push_back(end < Size(0) ? Size(0) : size < end ? size : end);
    }
    ends.push_back(size);
    return cut(x, axis, ends);
  }
  int64_t n = to_index(c[1], kWho);
  if (n <= 0) throw runtime_error(fmt::format("{}: the number of parts must be positive, got {}", kWho, n));
  if (!(mod(size, n) == Size(0)))
    throw runtime_error(fmt::format("{}: dimension {} ({}) not divisible by {}", kWho, axis, size.str(), n));
  for (int64_t i = 1; i <= n; ++i)
    ends.push_back(floor_div(size, n) * Size(i));
  return cut(x, axis, ends);
}

Operand rolled(const Operand& x, int axis, int64_t by) {
  Size n = x.size(axis);
  Size k = n == Size(0) ? Size(0) : mod(by, n);
  if (k == Size(0)) return x;
  return ops::concat({slice_range(x, axis, n - k, n), slice_range(x, axis, 0, n - k)}, axis);
}

// A shift that is data in a trace: gathers each element from its source.
std::optional<Operand> unknown_shift(const Value& v) {
  if (!v.is_traced() || trace::kind_of(v) != Kind::Tensor) return std::nullopt;
  Operand by = trace::operand_of(v);
  if (by.rank() != 0 || by.has_value() || is_float(by.dtype())) return std::nullopt;
  return ops::cast(by, DType::I64);
}

Operand rolled_by_data(const Operand& x, int axis, const Operand& by) {
  int64_t n = x.size(axis).value();
  return n == 0 ? x
                : ops::take(
                      x, ops::apply2("mod", ops::sub(ops::iota(n, DType::I64), by), ops::constant_int(DType::I64, n)),
                      axis, ops::kInRange, false);
}

Value roll(Call& c) {
  Operand x = tensor_operand(c[0], "roll");
  const Value* axis = c.option("axis");
  if (auto by = unknown_shift(c[1]); by && axis && trace::is_numeric(*axis) && !is_tensor_value(*axis)) {
    int a = ops::check_axis(to_index(*axis, "axis"), x.rank());
    if (x.size(a).is_const()) return tensor_value(rolled_by_data(x, a, *by));
  }
  std::vector<int64_t> by = to_ints(c[1], "roll");
  if (!axis || axis->is_nil()) {
    if (by.size() != 1) throw runtime_error("roll: several shifts need as many axes");
    return tensor_value(ops::reshape(rolled(ops::reshape(x, {num_elems(x.sizes())}), 0, by[0]), x.sizes()));
  }
  std::vector<int64_t> axes = to_ints(*axis, "axis");
  if (by.size() != 1 && by.size() != axes.size())
    throw runtime_error(fmt::format("roll: {} shifts for {} axes", by.size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i)
    x = rolled(x, ops::check_axis(axes[i], x.rank()), by.size() == 1 ? by[0] : by[i]);
  return tensor_value(x);
}

Value flip(Call& c) {
  if (c[0].is_list()) {
    Value out = std::move(c[0]);
    std::reverse(out.mutable_items().begin(), out.mutable_items().end());
    return out;
  }
  Operand x = tensor_operand(c[0], "flip");
  if (auto axes = axes_option(c, x.rank())) {
    for (int a : *axes)
      x = ops::flip(x, a);
    return tensor_value(x);
  }
  return tensor_value(ops::flip(x, one_axis(c, 1, x.rank(), 0)));
}

Value squeeze(Call& c) {
  Operand x = tensor_operand(c[0], "squeeze");
  auto axes = axes_option(c, x.rank());
  if (!axes && c.size() > 1) axes = std::vector{one_axis(c, 1, x.rank(), 0)};
  Sizes out;
  for (int i = 0; i < x.rank(); ++i) {
    bool one = x.size(i) == Size(1);
    bool named = axes && std::find(axes->begin(), axes->end(), i) != axes->end();
    if (named && !one) throw runtime_error(fmt::format("squeeze: axis {} has size {}, not 1", i, x.size(i).str()));
    if (axes ? !named : !one) out.push_back(x.size(i));
  }
  return tensor_value(ops::reshape(x, out));
}

Value expand_dims(Call& c) {
  Operand x = as_array(c[0], "expand-dims");
  return tensor_value(ops::expand_axis(x, one_axis(c, 1, x.rank() + 1, 0)));
}

Value broadcast(Call& c) {
  Sizes sizes = to_shape(c[1], "broadcast-to");
  check_known_size(sizes);
  return tensor_value(stretch(as_array(c[0], "broadcast-to"), sizes));
}

// Every axis of n is broadcast to [reps, n] and merged again.
Value tile(Call& c) {
  Operand x = as_array(c[0], "tile");
  Sizes reps = to_shape(c[1], "tile");
  Sizes s = x.sizes();
  while (s.size() < reps.size())
    s.insert(s.begin(), Size(1));
  while (reps.size() < s.size())
    reps.insert(reps.begin(), 1);
  Sizes split, stretched, merged;
  for (size_t i = 0; i < s.size(); ++i) {
    split.push_back(1);
    split.push_back(s[i]);
    stretched.push_back(reps[i]);
    stretched.push_back(s[i]);
    merged.push_back(reps[i] * s[i]);
  }
  check_known_size(stretched);
  return tensor_value(ops::reshape(ops::broadcast_to(ops::reshape(x, split), stretched), merged));
}

Value append_and_roll(Call& c) {
  Operand x = tensor_operand(c[0], "append-and-roll");
  if (x.rank() != 1) throw runtime_error(fmt::format("append-and-roll: expected a 1D tensor, got {}D", x.rank()));
  Size n = x.size(0);
  if (n == Size(0)) throw runtime_error("append-and-roll: the tensor is empty");
  if (!trace::is_numeric(c[1]) || num_elems(num(c[1]).x.sizes()) != Size(1))
    throw runtime_error(fmt::format("append-and-roll: expected a number, got {}", short_text(c[1])));
  Num v = num(c[1]);
  DType d = common_dtype(num(c[0]), v);
  return tensor_value(ops::concat({slice_range(ops::cast(x, d), 0, 1, n), ops::reshape(in_dtype(v, d), {1})}, 0));
}

// Two plain numbers give f32; otherwise the branches promote to their common dtype.
Value where(Call& c) {
  Operand condition = ops::cast(num(c[0]).x, DType::Bool);
  auto [a, b] = nums(c[1], c[2]);
  DType d = a.is_scalar() && b.is_scalar() ? DType::F32 : common_dtype(a, b);
  return tensor_value(ops::where(condition, in_dtype(a, d), in_dtype(b, d)));
}

Value normalize(Call& c) {
  Num n = num(c[0]);
  DType d = n.is_scalar() ? DType::F32 : float_dtype(n.x.dtype());
  Operand x = ops::cast(n.x, d);
  auto axes = axes_option(c, x.rank());
  Operand total = axes ? ops::sum(x, *axes, true) : ops::sum_all(x);
  return trace::to_value(x / total, n.is_scalar() ? Kind::Float : Kind::Tensor);
}

// Keeps x between the bounds; NaN stays NaN, and a NaN bound makes everything NaN.
Value clip(Call& c) {
  Value x = c[0];
  for (size_t i = 1; i < c.size(); ++i) {
    if (c[i].is_nil()) continue;
    auto [a, b] = nums(x, c[i]);
    DType d = common_dtype(a, b);
    Operand v = in_dtype(a, d), limit = bound_in_dtype(b, d, i == 2);
    Operand beyond = i == 1 ? ops::less(v, limit) : ops::less(limit, v);
    bool may_be_nan = is_float(d) && !(b.is_scalar() && !c[i].is_traced() && !std::isnan(to_double(c[i], "clip")));
    if (may_be_nan) beyond = ops::apply2("bit_or", beyond, ops::apply1("is_nan", limit));
    Operand y = ops::where(beyond, limit, v);
    Kind k = common_kind(a, b);
    x = trace::to_value(k == Kind::Float ? ops::cast(y, DType::F32) : y, k);
  }
  return x;
}

constexpr char kSplit[] = "split", kTensorSplit[] = "tensor-split";
constexpr std::string_view kMovement = "Shape manipulation";

const BuiltinDef kBuiltins[] = {
    {"reshape",
     kMovement,
     "(reshape x shape)",
     "The same elements in row-major order under another shape; a negative size is worked out from the others.",
     {{"(reshape [1 2 3 4] [2 2])", "[[1. 2.]\n [3. 4.]]"}, {"(shape (reshape (arange 6) [3 -1]))", "[3. 2.]"}},
     2,
     2,
     reshape},
    {"transpose",
     kMovement,
     "(transpose x [perm])",
     "A matrix transposed; from rank 3 on the axes reversed, or in the order of the list perm.",
     {{"(transpose [[1 2] [3 4]])", "[[1. 3.]\n [2. 4.]]"},
      {"(shape (transpose (zeros [2 3 4]) '[0 2 1]))", "[2. 4. 3.]"}},
     1,
     2,
     transpose},
    {"tr",
     kMovement,
     "(tr x [perm])",
     "Same as transpose.",
     {{"(shape (tr (zeros [2 3])))", "[3. 2.]"}},
     1,
     2,
     transpose},
    {"swapaxes",
     kMovement,
     "(swapaxes x a b)",
     "Two axes exchanged.",
     {{"(shape (swapaxes (zeros [2 3 4]) 0 -1))", "[4. 3. 2.]"}},
     3,
     3,
     swapaxes},
    {"moveaxis",
     kMovement,
     "(moveaxis x from to)",
     "An axis (or a list of axes) moved to another place; the others keep their order.",
     {{"(shape (moveaxis (zeros [2 3 4]) 0 -1))", "[3. 4. 2.]"}},
     3,
     3,
     moveaxis},
    {"slice",
     kMovement,
     "(slice x start [end] [:axis k])",
     "Elements from start up to, not including, end along an axis (0); of a string, a range of bytes. Negative "
     "positions count from the end.",
     {{"(slice [1 2 3 4 5] 1 3)", "[2. 3.]"}, {"(slice [1 2 3 4 5] -2)", "[4. 5.]"}, {"(slice \"tensor\" 1 4)", "ens"}},
     2,
     3,
     slice,
     "axis"},
    {"dynamic-slice",
     kMovement,
     "(dynamic-slice x start end)",
     "Rows start to end of axis 0, both included.",
     {{"(dynamic-slice [10 20 30 40] 1 2)", "[20. 30.]"}},
     3,
     3,
     dynamic_slice},
    {"concat",
     kMovement,
     "(concat a b … [:axis k])",
     "Tensors (and numeric lists) joined along an axis (0); lists joined into a list; text joined to a string.",
     {{"(concat [1 2] [3])", "[1. 2. 3.]"},
      {"(concat '[1 2] '[3 \"x\"])", "[1, 2, 3, 'x']"},
      {"(concat \"ab\" 3)", "ab3"}},
     1,
     -1,
     concat,
     "axis"},
    {"stack",
     kMovement,
     "(stack xs [:axis k])",
     "A list of tensors of one shape (or the rows of a tensor) on a new axis (0).",
     {{"(stack (list [1 2] [3 4]))", "[[1. 2.]\n [3. 4.]]"}},
     1,
     -1,
     stack,
     "axis"},
    {"split",
     kMovement,
     "(split x n [:axis k])",
     "A list of n equal pieces along an axis (0), or the pieces between a list of positions.",
     {{"(split [1 2 3 4] 2)", "[[1. 2.], [3. 4.]]"}, {"(split [1 2 3 4] '[1 3])", "[[1.], [2. 3.], [4.]]"}},
     2,
     2,
     split<kSplit>,
     "axis"},
    {"tensor-split",
     kMovement,
     "(tensor-split x n [:axis k])",
     "A list of n equal pieces along an axis (0).",
     {{"(tensor-split [1 2 3 4] 2)", "[[1. 2.], [3. 4.]]"}},
     2,
     2,
     split<kTensorSplit>,
     "axis"},
    {"roll",
     kMovement,
     "(roll x n [:axis k])",
     "Elements moved round by n places, of the flattened tensor or along an axis.",
     {{"(roll [1 2 3] 1)", "[3. 1. 2.]"}, {"(roll [[1 2 3] [4 5 6]] 1 :axis 1)", "[[3. 1. 2.]\n [6. 4. 5.]]"}},
     2,
     2,
     roll,
     "axis"},
    {"flip",
     kMovement,
     "(flip x [:axis k])",
     "A list, or a tensor along an axis (0), in reverse order.",
     {{"(flip [1 2 3])", "[3. 2. 1.]"}, {"(flip '[1 \"a\"])", "['a', 1]"}},
     1,
     2,
     flip,
     "axis"},
    {"squeeze",
     kMovement,
     "(squeeze x [:axis k])",
     "Without the axes of size 1, or without the one named.",
     {{"(squeeze [[1 2]])", "[1. 2.]"}},
     1,
     2,
     squeeze,
     "axis"},
    {"expand-dims",
     kMovement,
     "(expand-dims x axis)",
     "With a new axis of size 1.",
     {{"(shape (expand-dims [1 2 3] -1))", "[3. 1.]"}},
     1,
     2,
     expand_dims,
     "axis"},
    {"broadcast-to",
     kMovement,
     "(broadcast-to x shape)",
     "Stretched to a shape by the rules of broadcasting.",
     {{"(broadcast-to [1 2] [2 2])", "[[1. 2.]\n [1. 2.]]"}},
     2,
     2,
     broadcast},
    {"tile",
     kMovement,
     "(tile x reps)",
     "Repeated along its last axis, or along each axis by a list of numbers.",
     {{"(tile [1 2] 2)", "[1. 2. 1. 2.]"}},
     2,
     2,
     tile},
    {"append-and-roll",
     kMovement,
     "(append-and-roll x v)",
     "A vector without its first element and with v at the end.",
     {{"(append-and-roll [1 2 3] 4)", "[2. 3. 4.]"}},
     2,
     2,
     append_and_roll},
    {"where",
     kMovement,
     "(where condition a b)",
     "Elements of a where the condition is nonzero, else of b; always a tensor.",
     {{"(where (> [1 4] 2) [10 20] -1)", "[-1. 20.]"}},
     3,
     3,
     where},
    {"normalize",
     kMovement,
     "(normalize x [:axis k])",
     "Divided by its sum, whole or along an axis.",
     {{"(normalize [1 3])", "[0.25 0.75]"}},
     1,
     1,
     normalize,
     "axis"},
    {"clip",
     kMovement,
     "(clip x low high)",
     "Limited to the range from low to high; nil for no bound.",
     {{"(clip [-5 0.5 5] -1 1)", "[-1. 0.5  1.]"}, {"(clip 7 nil 3)", "3"}},
     3,
     3,
     clip},
};

}  // namespace

std::span<const BuiltinDef> movement_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

// Arrays from sizes, ranges and lists.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "builtins/core/warnings.h"
#include "trace/int_bounds.h"
#include "trace/size_values.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using ops::operator+;
using ops::operator-;
using ops::operator*;

// `(zeros [2 3])` or `(zeros 2 3)`.
Sizes shape_arguments(Call& c, std::string_view who) {
  bool whole = c[0].is_seq() || (is_tensor_value(c[0]) && trace::operand_of(c[0]).rank() > 0);
  if (whole && c.size() > 1) warn(fmt::format("{} ignores argument 2", who));
  if (whole || c.size() == 1) return to_shape(c[0], who);
  Sizes out;
  for (Value& v : c.args)
    out.push_back(to_count(v, who));
  return out;
}

// A constant array is a stretched view that takes no memory, but the first use of it would: refuse here, where the
// shape is.
void check_fits(DType d, const Sizes& sizes) {
  double bytes = static_cast<double>(checked_num_elems(known_sizes(sizes))) * size_bytes(d);
  if (bytes > static_cast<double>(memory_stats().limit_bytes))
    throw runtime_error("out of memory: a tensor of shape " + shape_text(sizes) + " is too large");
}

Operand filled(DType d, const Sizes& sizes, double value) {
  check_fits(d, sizes);
  return ops::full({d, sizes}, value);
}

Value zeros(Call& c) {
  return tensor_value(filled(dtype_option(c, "zeros").value_or(DType::F32), shape_arguments(c, "zeros"), 0));
}
Value ones(Call& c) {
  return tensor_value(filled(dtype_option(c, "ones").value_or(DType::F32), shape_arguments(c, "ones"), 1));
}

Value full(Call& c) {
  Sizes sizes = to_shape(c[0], "full");
  check_fits(DType::F32, sizes);
  Operand v = as_array(c[1], "full");
  if (auto d = dtype_option(c, "full")) v = converted(num(c[1]), *d);
  return tensor_value(stretch(v, sizes));
}

Value eye(Call& c) {
  int64_t n = to_count(c[0], "eye").value(), m = c.size() > 1 ? to_count(c[1], "eye").value() : n;
  DType d = dtype_option(c, "eye").value_or(DType::F32);
  Tensor t = zeros_tensor(d, {n, m});
  for (int64_t i = 0; i < std::min(n, m); ++i)
    store_int(d, t.bytes_mut() + (i * m + i) * size_bytes(d), 1);
  return Value::tensor(std::move(t));
}

UserError zero_step() { return runtime_error("range: the step must not be 0"); }

// A range whose ends depend on sizes that are not known.
Value open_range(Size first, Size stop, DType d) {
  Operand y = ops::iota(stop < first ? Size(0) : stop - first, d);
  return tensor_value(first == Size(0) ? y : y + ops::cast(trace::sizes_operand({first}, DType::I64, true), d));
}

bool has_fraction(double x) { return x != std::floor(x); }

// `start + i * step` for all i below the stop, which is not reached by a rounding error of the quotient.
Value fractional_range(double first, double stop, double step, DType d) {
  for (double x : {first, stop, step}) {
    auto text = [&] { return brief_number(static_cast<float>(x)); };
    if (!std::isfinite(x)) throw runtime_error(fmt::format("range: expected a finite number, got {}", text()));
    if (!is_float(d) && has_fraction(x))
      throw runtime_error(fmt::format("range: {} does not fit {}", text(), name_of(d)));
  }
  double steps = (stop - first) / step;
  if (d != DType::F64) steps = static_cast<float>(steps);
  if (steps > static_cast<double>(INT64_MAX / 16)) throw runtime_error("out of memory: the range is too long");
  auto n = static_cast<int64_t>(std::ceil(std::max(steps, 0.0)));
  Tensor t = empty_tensor(d, {n});
  for (int64_t i = 0; i < n; ++i)
    store_double(d, t.bytes_mut() + i * size_bytes(d), first + static_cast<double>(i) * step);
  return Value::tensor(std::move(t));
}

// The end of a range or the like: a float for f64 with all its digits, else as the program sees it.
double end_number(const Value& v, std::string_view who, std::optional<DType> d) {
  Value now = trace::concrete(v);
  return now.is_float() && d != DType::F64 ? now.as_float() : to_double(now, who);
}

Value range(Call& c) {
  std::optional<DType> dtype = dtype_option(c, "range");
  bool fractional = std::any_of(c.args.begin(), c.args.end(), [&](const Value& v) {
    return !trace::size_value(v) && has_fraction(end_number(v, "range", dtype));
  });
  if (fractional) {
    auto number = [&](size_t i, double missing) { return i < c.size() ? end_number(c[i], "range", dtype) : missing; };
    double step = number(2, 1);
    if (step == 0) throw zero_step();
    bool from_zero = c.size() == 1;
    return fractional_range(from_zero ? 0 : number(0, 0), number(from_zero ? 0 : 1, 0), step,
                            dtype.value_or(DType::F32));
  }
  bool open = trace::size_value(c[0]) || (c.size() > 1 && trace::size_value(c[1]));
  if (open && (c.size() < 3 || to_size(c[2], "range") == Size(1)))
    return open_range(c.size() > 1 ? to_size(c[0], "range") : Size(0), to_size(c[c.size() > 1 ? 1 : 0], "range"),
                      dtype.value_or(DType::I32));
  int64_t first = c.size() > 1 ? to_index(c[0], "range") : 0;
  int64_t stop = to_index(c[c.size() > 1 ? 1 : 0], "range"), step = c.size() > 2 ? to_index(c[2], "range") : 1;
  if (step == 0) throw zero_step();
  // Widths are taken in 128 bits: the ends may be at the two ends of i64.
  __int128 span = step > 0 ? static_cast<__int128>(stop) - first : static_cast<__int128>(first) - stop;
  __int128 stride = step > 0 ? step : -static_cast<__int128>(step);
  __int128 count = span <= 0 ? 0 : (span + stride - 1) / stride;
  if (count > INT64_MAX / 16) throw runtime_error("out of memory: the range is too long");
  int64_t n = static_cast<int64_t>(count);
  DType d = dtype.value_or(DType::I32);
  if (int64_t last = n > 0 ? first + (n - 1) * step : 0;
      is_int(d) && n > 0 && !(trace::holds_int(d, first) && trace::holds_int(d, last)))
    throw runtime_error(fmt::format("range: {} … {} does not fit {}", first, last, name_of(d))).hint("add :dtype :i64");
  Tensor t = empty_tensor(d, {n});
  if (d == DType::I32) {
    for (int64_t i = 0; i < n; ++i)
      t.data_mut<int32_t>()[i] = static_cast<int32_t>(first + i * step);
  } else {
    for (int64_t i = 0; i < n; ++i)
      store_int(d, t.bytes_mut() + i * size_bytes(d), first + i * step);
  }
  return Value::tensor(std::move(t));
}

// Both ends are hit exactly.
Value linspace(Call& c) {
  int64_t n = c.size() > 2 ? to_count(c[2], "linspace").value() : 50;
  DType d = dtype_option(c, "linspace").value_or(DType::F32);
  auto at = [n](int64_t i) { return n == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(n - 1); };
  if (!c[0].is_traced() && !c[1].is_traced()) {
    double a = end_number(c[0], "linspace", d), b = end_number(c[1], "linspace", d);
    Tensor t = empty_tensor(d, {n});
    for (int64_t i = 0; i < n; ++i)
      store_double(d, t.bytes_mut() + i * size_bytes(d), i > 0 && i == n - 1 ? b : a + (b - a) * at(i));
    return Value::tensor(std::move(t));
  }
  DType work = float_dtype(d);
  Tensor t = empty_tensor(work, {n});
  for (int64_t i = 0; i < n; ++i)
    store_double(work, t.bytes_mut() + i * size_bytes(work), at(i));
  auto end = [&](const Value& v) {
    Operand x = converted(num(v), work);
    if (!(num_elems(x.sizes()) == Size(1)))
      throw runtime_error(fmt::format("linspace: expected a number, got {}", short_text(v)));
    return ops::reshape(x, {});
  };
  Operand w(t), a = end(c[0]), b = end(c[1]);
  return tensor_value(ops::cast(a * (ops::constant(work, 1) - w) + b * w, d));
}

// A one is added at each index of a row of zeros, so that an index out of range is found when the program runs.
Value one_hot(Call& c) {
  bool index = trace::is_numeric(c[0]) && (trace::kind_of(c[0]) == Kind::Int || trace::kind_of(c[0]) == Kind::Tensor);
  if (!index)
    throw runtime_error(fmt::format("one-hot: expected an int or a tensor of indices, got {}", short_text(c[0])));
  Size n = to_count(c[1], "one-hot");
  Operand at = index_operand(c[0], "one-hot");
  Sizes out = at.sizes();
  Size rows = num_elems(out);
  out.push_back(n);
  DType d = dtype_option(c, "one-hot").value_or(DType::F32);
  Operand y = ops::put_along(ops::zeros({d, {rows, out.back()}}), ops::reshape(at, {rows, 1}),
                             ops::full({d, {rows, 1}}, 1), 1, "one-hot", false);
  return tensor_value(ops::reshape(y, out));
}

// Keeps what lies on or below (kLower), or on or above, the k-th diagonal.
template <bool kLower>
Value triangle(Call& c) {
  const char* who = kLower ? "tril" : "triu";
  Operand x = tensor_operand(c[0], who);
  if (x.rank() < 2) throw runtime_error(fmt::format("{}: input must be 2D (matrix), got {}D", who, x.rank()));
  int64_t k = c.size() > 1 ? to_index(c[1], who) : 0;
  Operand rows = ops::expand_axis(ops::iota(x.size(-2), DType::I64), 1), cols = ops::iota(x.size(-1), DType::I64);
  if (k != 0) rows = rows + ops::constant_int(DType::I64, k);
  Operand keep = kLower ? ops::less_equal(cols, rows) : ops::less_equal(rows, cols);
  return tensor_value(ops::where(keep, x, ops::like(x, 0)));
}

Value tensor(Call& c) {
  auto d = dtype_option(c, "tensor");
  if (c[0].is_seq()) {
    Operand x = array_operand(c[0], "tensor", d && !is_inexact(*d) ? DType::I64 : d.value_or(DType::F32));
    return tensor_value(ops::cast(x, d.value_or(x.dtype())));
  }
  if (!trace::is_numeric(c[0]))
    throw runtime_error(fmt::format("tensor: expected a list of numbers, got {}", short_text(c[0])));
  if (!d && c[0].is_tensor()) return std::move(c[0]);
  return tensor_value(d ? converted(num(c[0]), *d) : as_array(c[0], "tensor"));
}

constexpr std::string_view kCreation = "Creation", kDtype = "*dtype=";

const BuiltinDef kBuiltins[] = {
    {"zeros",
     kCreation,
     "(zeros shape [:dtype d])",
     "An f32 tensor of zeros. The shape is a list or vector of numbers, or the sizes themselves.",
     {{"(zeros [2 2])", "[[0. 0.]\n [0. 0.]]"}, {"(zeros 3)", "[0. 0. 0.]"}},
     1,
     -1,
     zeros,
     kDtype},
    {"ones",
     kCreation,
     "(ones shape [:dtype d])",
     "An f32 tensor of ones.",
     {{"(ones [1 3])", "[[1. 1. 1.]]"}},
     1,
     -1,
     ones,
     kDtype},
    {"full",
     kCreation,
     "(full shape value [:dtype d])",
     "A tensor filled with a value; numbers give f32.",
     {{"(full [2] 7.5)", "[7.5 7.5]"}},
     2,
     2,
     full,
     kDtype},
    {"eye",
     kCreation,
     "(eye n [m] [:dtype d])",
     "The n by n (or n by m) identity matrix, f32.",
     {{"(eye 2)", "[[1. 0.]\n [0. 1.]]"}},
     1,
     2,
     eye,
     kDtype},
    {"arange",
     kCreation,
     "(arange [start] stop [step] [:dtype d])",
     "Numbers from start (0) up to, not including, stop, step (1) apart: an i32 tensor of whole numbers, f32 if any "
     "argument has a fraction.",
     {{"(arange 5)", "[0 1 2 3 4]"}, {"(arange 5 0 -2)", "[5 3 1]"}, {"(arange 0 1 0.25)", "[  0. 0.25  0.5 0.75]"}},
     1,
     3,
     range,
     kDtype},
    {"range",
     kCreation,
     "(range [start] stop [step] [:dtype d])",
     "Same as arange.",
     {{"(range 1 4)", "[1 2 3]"}},
     1,
     3,
     range,
     kDtype},
    {"linspace",
     kCreation,
     "(linspace start stop [n] [:dtype d])",
     "n (50) evenly spaced numbers from start to stop, both included.",
     {{"(linspace 0 1 5)", "[  0. 0.25  0.5 0.75   1.]"}},
     2,
     3,
     linspace,
     kDtype},
    {"one-hot",
     kCreation,
     "(one-hot index n [:dtype d])",
     "Rows of n zeros with a one at each index: shape index.shape + [n].",
     {{"(one-hot 1 3)", "[0. 1. 0.]"}, {"(one-hot [2 0] 3)", "[[0. 0. 1.]\n [1. 0. 0.]]"}},
     2,
     2,
     one_hot,
     kDtype},
    {"tril",
     kCreation,
     "(tril m [k])",
     "The matrix, or each of [..., m, n], with zeros above its k-th diagonal (0: the main one).",
     {{"(tril [[1 2] [3 4]])", "[[1. 0.]\n [3. 4.]]"}},
     1,
     2,
     triangle<true>},
    {"triu",
     kCreation,
     "(triu m [k])",
     "The matrix, or each of [..., m, n], with zeros below its k-th diagonal (0: the main one).",
     {{"(triu [[1 2] [3 4]])", "[[1. 2.]\n [0. 4.]]"}},
     1,
     2,
     triangle<false>},
    {"tensor",
     kCreation,
     "(tensor x [:dtype d])",
     "A tensor from a list, possibly nested, of numbers (f32), bools or tensors of one shape; a tensor as it is.",
     {{"(tensor '[1 2 3])", "[1. 2. 3.]"}, {"(tensor '[[1] [0]] :dtype :i32)", "[[1]\n [0]]"}},
     1,
     1,
     tensor,
     kDtype},
};

}  // namespace

std::span<const BuiltinDef> create_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

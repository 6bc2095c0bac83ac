// Reductions. Without :axis the whole array gives a scalar; with :axis an array (0-d for rank 1). Here are those made
// of several ops or with several meanings, and what the entries of the others need (op_functions.h).
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "builtins/arrays/op_functions.h"
#include "builtins/core/warnings.h"
#include "ops/complex.h"
#include "trace/size_values.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using ops::operator+;
using ops::operator-;
using ops::operator*;
using ops::operator/;
using trace::to_value;

// One call of a reduction: what is reduced, over which axes, and what comes out.
struct Reduction {
  Operand x;
  std::vector<int> axes;
  bool whole;     // no :axis: the result is a scalar
  bool keepdims;  // only with :axis
  DType out;      // dtype of the result along axes, and of a scalar if it is f64
  bool asked;     // for that dtype
};

DType plain_dtype(DType d) { return d == DType::Bool || is_storage_only(d) ? DType::I32 : d; }

Reduction read_call(const Call& c, Operand x, std::string_view who) {
  Reduction r{std::move(x), {}, true, false, DType::F32, false};
  r.out = r.x.dtype();
  if (auto axes = axes_option(c, r.x.rank())) {
    r.axes = *axes;
    r.whole = false;
    r.keepdims = c.flag("keepdims");
  } else {
    r.axes.resize(r.x.rank());
    std::iota(r.axes.begin(), r.axes.end(), 0);
  }
  if (auto d = dtype_option(c, who)) r.out = *d, r.asked = true;
  return r;
}

// Scalars are reduced as 0-d arrays; ints among them in f32, since the result is a float anyway.
Reduction read_call(Call& c, std::string_view who) {
  if (c[0].is_list()) c[0] = tensor_value(array_operand(c[0], who));
  Num n = num(c[0]);
  if (n.kind == Kind::Bool)
    warn(fmt::format("{} of a single bool; (= a b) compares arrays as a whole, (== a b) each element", who));
  return read_call(c, n.is_scalar() ? ops::cast(n.x, DType::F32) : n.x, who);
}

Operand run(std::string_view op, const Operand& x, const Reduction& r, bool keepdims) {
  return r.axes.empty() ? x : ops::reduce(op, x, r.axes, keepdims);
}

// Results computed in a wider dtype come back in the one asked for.
Value result(const Reduction& r, const Operand& y) {
  if (!r.whole) return tensor_value(ops::cast(y, r.out));
  return float_value(ops::cast(y, is_number_dtype(r.out) ? DType::F32 : r.out));
}

// What sums are computed in: whole sums of ints in f64, which is exact up to 2^53; narrow floats in f32 when the result
// is.
Operand summands(Reduction& r) {
  DType d = plain_dtype(r.x.dtype());
  if (!r.whole) {
    DType out = plain_dtype(r.out);
    d = d == out ? d : compute_type(promote(d, out));
    if (!r.asked) r.out = out;
  } else if (is_complex(d) || is_complex(r.out)) {
    d = DType::C64;
  } else if (!is_float(d)) {
    d = DType::F64;
  } else {
    d = d == DType::F64 || r.out == DType::F64 ? DType::F64 : DType::F32;
  }
  return ops::cast(r.x, d);
}

// Means are taken in f32 at least: a sum of f16 overflows at 65504, one of bf16 has three digits.
Operand averaged(Reduction& r) {
  bool wide = r.x.dtype() == DType::F64 || r.out == DType::F64;
  if (!r.asked) r.out = float_dtype(r.out);
  return is_complex(r.x.dtype()) ? r.x : ops::cast(r.x, wide ? DType::F64 : DType::F32);
}

// |x|^2, which is real, and so is what is made of it.
Operand squares(const Operand& x, Reduction& r) {
  if (!is_complex(x.dtype())) return x * x;
  if (is_complex(r.out)) r.out = DType::F32;
  auto [re, im] = ops::parts_of(x);
  return re * re + im * im;
}

Size num_reduced(const Operand& x, const Reduction& r) {
  Size n = 1;
  for (int a : r.axes)
    n = n * x.size(a);
  return n;
}

Operand mean_of(const Operand& x, const Reduction& r, bool keepdims) {
  if (r.axes.empty()) return x;
  const DType parts = is_complex(x.dtype()) ? DType::F32 : x.dtype();
  Operand n = ops::cast(trace::sizes_operand({num_reduced(x, r)}, parts, true), x.dtype());
  return run("sum", x, r, keepdims) / n;
}

Value mean(Call& c) {
  Reduction r = read_call(c, "mean");
  Operand x = averaged(r);
  return result(r, mean_of(x, r, r.keepdims));
}

// Two passes: the squares are of distances from the mean, so a large mean costs no digits. The divisor is less by the
// option :ddof; where nothing is left of it the variance is NaN.
Operand variance(const Call& c, const Operand& x, Reduction& r, std::string_view who) {
  const Value* option = c.option("ddof");
  double ddof = option ? to_double(*option, fmt::format("{}: :ddof", who)) : 0;
  Operand d = squares(x - mean_of(x, r, true), r);
  if (ddof == 0) return mean_of(d, r, r.keepdims);
  Operand n = trace::sizes_operand({num_reduced(x, r)}, d.dtype(), true) - ops::like(d, ddof);
  Operand divisor = ops::where(ops::less(ops::like(d, 0), n), n, ops::like(d, std::nan("")));
  return run("sum", d, r, r.keepdims) / divisor;
}

Value var(Call& c) {
  Reduction r = read_call(c, "var");
  Operand x = averaged(r);
  Operand y = variance(c, x, r, "var");
  return result(r, y);
}

Value std_dev(Call& c) {
  Reduction r = read_call(c, "std");
  Operand x = averaged(r);
  Operand y = ops::apply1("sqrt", variance(c, x, r, "std"));
  return result(r, y);
}

// The p-norm of all elements or along axes, as one vector; p is 2 unless :ord says otherwise.
Value norm(Call& c) {
  const Value* ord = c.option("ord");
  double p = ord && !ord->is_nil() ? to_double(*ord, "norm") : 2;
  Reduction r = read_call(c, "norm");
  Operand x = averaged(r);
  Operand square = p == 2 ? squares(x, r) : Operand();
  if (p == 2) return result(r, ops::apply1("sqrt", run("sum", square, r, r.keepdims)));
  Operand size = ops::apply1("abs", x);
  if (is_complex(r.out)) r.out = DType::F32;
  if (p == 1) return result(r, run("sum", size, r, r.keepdims));
  if (std::isinf(p)) return result(r, run(p > 0 ? "max" : "min", size, r, r.keepdims));
  Operand powers = run("sum", ops::apply2("pow", size, ops::like(x, p)), r, r.keepdims);
  return result(r, ops::apply2("pow", powers, ops::like(x, 1 / p)));
}

// log Σ eˣ with the largest element taken out first: e⁸⁹ is no f32. An infinite maximum stays in.
Value logsumexp(Call& c) {
  Reduction r = read_call(c, "logsumexp");
  Operand x = averaged(r);
  Operand m = ops::apply1("stop_gradient", run("max", x, r, true));
  m = ops::where(ops::apply1("is_inf", m), ops::like(m, 0), m);
  Operand s = ops::apply1("log", run("sum", ops::apply1("exp", x - m), r, true)) + m;
  for (size_t i = r.axes.size(); !r.keepdims && i-- > 0;)
    s = ops::squeeze_axis(s, r.axes[i]);
  return result(r, s);
}

// The larger (or smaller) of two; -0 is less than +0, and neither is NaN.
template <bool kLarger>
float winner(float a, float b) {
  return a == b ? (std::signbit(a) == kLarger ? b : a) : (a < b) == kLarger ? b : a;
}

// (max a b …) of numbers.
template <const char* kOp, bool kLarger>
Value extremum_of_numbers(Call& c) {
  bool plain = true;
  for (Value& v : c.args) {
    if (!trace::is_numeric(v)) throw runtime_error("Expected a number, got " + short_text(v));
    if (rank_of(v) > 0)
      throw runtime_error(fmt::format("{}: expected numbers, got {} and {}", kOp, short_text(c[0]), short_text(v)))
          .hint(fmt::format("({}imum a b) compares arrays element by element", kOp));
    ops::check_real(num(v).x, kOp);
    plain &= is_plain_scalar(v);
  }
  if (plain) {
    float best = scalar_float(c[0]);
    for (Value& v : c.args) {
      float x = scalar_float(v);
      if (!std::isnan(best)) best = std::isnan(x) ? x : winner<kLarger>(best, x);
    }
    return Value::floating(best);
  }
  std::vector<Operand> parts;
  for (Value& v : c.args)
    parts.push_back(ops::reshape(ops::cast(num(v).x, DType::F32), {1}));
  return float_value(ops::reduce(kOp, ops::concat(std::move(parts), 0), {0}, false));
}

// max and min; NaN wins.
template <const char* kOp, bool kLarger>
Value extremum(Call& c) {
  if (c[0].is_list()) c[0] = tensor_value(array_operand(c[0], kOp));
  if (c.size() > 1 && trace::is_numeric(c[0]) && rank_of(c[0]) == 0) return extremum_of_numbers<kOp, kLarger>(c);
  if (c.size() > 1 && trace::is_numeric(c[0]))
    warn(fmt::format("{} ignores argument 2; did you mean :axis, or {}imum?", kOp, kOp));
  Reduction r = read_call(c, kOp);
  Operand y = run(kOp, r.x, r, r.keepdims);
  if (r.whole) warn_if_inexact(y);
  return result(r, y);
}

// any is a sum of bools, all a product: both have a value for nothing at all.
template <const char* kOp, const char* kWho>
Value truth(Call& c) {
  Operand x = c[0].is_list() ? array_operand(c[0], kWho) : num(c[0]).x;
  Reduction r = read_call(c, ops::cast(x, DType::Bool), kWho);
  Operand y = run(kOp, r.x, r, r.keepdims);
  return to_value(y, r.whole ? Kind::Bool : Kind::Tensor);
}

constexpr char kSum[] = "sum", kProduct[] = "product", kMax[] = "max", kMin[] = "min", kAny[] = "any", kAll[] = "all";
constexpr std::string_view kReductions = "Reductions", kOptions = kReductionOptions,
                           kSpreadOptions = "*axis ddof keepdims dtype=";

const BuiltinDef kBuiltins[] = {
    {"mean",
     kReductions,
     "(mean x [:axis k] [:keepdims] [:DTYPE])",
     "Arithmetic mean of all elements, or along axes.",
     {{"(mean [1 2 3 6])", "3.0"}, {"(mean [[1 2] [3 6]] :axis 0)", "[2. 4.]"}},
     1,
     1,
     mean,
     kOptions},
    {"max",
     kReductions,
     "(max x [:axis k] [:keepdims] [:DTYPE]) (max a b …)",
     "Largest element of a tensor or list, along axes, or largest of several numbers; NaN wins.",
     {{"(max [3 9 4])", "9.0"}, {"(max 3 9 4)", "9.0"}, {"(max [[1 8] [3 4]] :axis 0)", "[3. 8.]"}},
     1,
     -1,
     extremum<kMax, true>,
     kOptions},
    {"min",
     kReductions,
     "(min x [:axis k] [:keepdims] [:DTYPE]) (min a b …)",
     "Smallest element of a tensor or list, along axes, or smallest of several numbers; NaN wins.",
     {{"(min [3 1 4])", "1.0"}, {"(min 3 1 4)", "1.0"}},
     1,
     -1,
     extremum<kMin, false>,
     kOptions},
    {"var",
     kReductions,
     "(var x [:axis k] [:ddof d] [:keepdims] [:DTYPE])",
     "Variance, in two passes: the population's, which divides by n, or with :ddof by n - d (1 for a sample's).",
     {{"(var [1 2 3 4])", "1.25"}, {"(var [1 2 3 4] :ddof 1)", "1.6666666"}},
     1,
     1,
     var,
     kSpreadOptions},
    {"std",
     kReductions,
     "(std x [:axis k] [:ddof d] [:keepdims] [:DTYPE])",
     "Standard deviation: the square root of var, with its :ddof.",
     {{"(std [1 3])", "1.0"}},
     1,
     1,
     std_dev,
     kSpreadOptions},
    {"norm",
     kReductions,
     "(norm x [:ord p] [:axis k] [:keepdims] [:DTYPE])",
     "Length of x as one vector, or of the vectors along axes; p is 2, or any number or inf.",
     {{"(norm [3 4])", "5.0"}, {"(norm [3 -4] :ord 1)", "7.0"}, {"(norm [3 -4] :ord inf)", "4.0"}},
     1,
     1,
     norm,
     "*axis keepdims ord dtype="},
    {"logsumexp",
     kReductions,
     "(logsumexp x [:axis k] [:keepdims] [:DTYPE])",
     "Logarithm of the sum of exponentials, without overflow.",
     {{"(logsumexp [1000])", "1000.0"}},
     1,
     1,
     logsumexp,
     kOptions},
    {"any",
     kReductions,
     "(any x [:axis k] [:keepdims])",
     "Is any element nonzero? A bool, or a bool tensor along axes.",
     {{"(any (> [1 5] 3))", "true"}},
     1,
     1,
     truth<kSum, kAny>,
     "axis keepdims"},
    {"all",
     kReductions,
     "(all x [:axis k] [:keepdims])",
     "Are all elements nonzero? A bool, or a bool tensor along axes.",
     {{"(all (> [1 5] 3))", "false"}},
     1,
     1,
     truth<kProduct, kAll>,
     "axis keepdims"},
};

}  // namespace

Value total(Call& c) {
  const graph::OpDef& op = *c.def.op;
  bool or_number = op.arguments == graph::Arguments::TotalOrNumber;
  Reduction r = read_call(c, op.name);
  Operand x = summands(r);
  Operand y = run(op.name, x, r, r.keepdims && !or_number);
  if (or_number && y.rank() == 0) r.whole = true;
  return result(r, y);
}

Value position(Call& c) {
  std::string_view op = c.def.op->name;
  Reduction r = read_call(c, op);
  if (r.whole) {
    Size n = num_elems(r.x.sizes());
    return to_value(ops::cast(ops::reduce(op, ops::reshape(r.x, {n}), {0}, false), DType::I64), Kind::Int);
  }
  if (r.axes.size() != 1) throw runtime_error(fmt::format("{}: one axis at a time", op));
  return tensor_value(ops::reduce(op, r.x, r.axes, false));
}

std::span<const BuiltinDef> reduce_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

#include "builtins/core/numeric.h"

#include <fmt/format.h>

#include <cmath>

#include "builtins/core/warnings.h"
#include "ops/complex.h"
#include "trace/control.h"
#include "trace/int_bounds.h"
#include "trace/size_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::builtins {

using graph::Bound;
using trace::concrete;
using trace::kind_of;
using trace::operand_of;
using trace::to_value;

Num num(const Value& v) {
  if (!trace::is_numeric(v)) throw runtime_error("Expected a number, got " + short_text(v));
  return {operand_of(v), kind_of(v), &v};
}

std::pair<Num, Num> nums(const Value& a, const Value& b) {
  if (!trace::is_numeric(a) || !trace::is_numeric(b))
    throw runtime_error("Expected numbers, got " + short_text(a) + " and " + short_text(b));
  return {{operand_of(a), kind_of(a), &a}, {operand_of(b), kind_of(b), &b}};
}

namespace {

DType array_dtype(const Num& n) { return is_storage_only(n.x.dtype()) ? DType::I32 : n.x.dtype(); }

// The dtype of a tensor met by a scalar of some kind.
DType weak_dtype(DType tensor, Kind scalar) {
  switch (scalar) {
    case Kind::Bool:
    case Kind::Int: return tensor == DType::Bool && scalar == Kind::Int ? DType::I32 : tensor;
    default: return is_inexact(tensor) ? tensor : DType::F32;
  }
}

}  // namespace

DType common_dtype(const Num& a, const Num& b) {
  if (!a.is_scalar() && !b.is_scalar()) return promote(a.x.dtype(), b.x.dtype());
  if (!a.is_scalar()) return weak_dtype(array_dtype(a), b.kind);
  if (!b.is_scalar()) return weak_dtype(array_dtype(b), a.kind);
  if (a.kind == Kind::Float || b.kind == Kind::Float) return DType::F32;
  return is_float(a.x.dtype()) || is_float(b.x.dtype()) ? DType::F32 : DType::I64;
}

Operand converted(const Num& n, DType d) {
  if (d == DType::F64 && n.value)
    if (Operand wide = trace::wide_operand(*n.value)) return wide;
  return ops::cast(n.x, d);
}

Operand in_dtype(const Num& n, DType d) {
  if (n.kind != Kind::Int || !is_int(d) || trace::surely_holds(d, n.x)) return converted(n, d);
  // Hashes count down in u32 by adding negative numbers.
  if (d == DType::U32 && trace::int_bits(n.x) <= 32) return ops::cast(n.x, d);
  if (!n.x.has_value()) return trace::checked_narrow(n.x, d);
  throw runtime_error(fmt::format("{} does not fit {}", element_as_int(n.x.value(), 0), name_of(d)))
      .hint("(cast x :i64) makes room in the tensor");
}

Operand bound_in_dtype(const Num& n, DType d, bool upper) {
  if (n.kind != Kind::Int || !is_int(d) || trace::surely_holds(d, n.x)) return in_dtype(n, d);
  Operand edge = ops::cast(ops::constant(DType::F64, upper ? HUGE_VAL : -HUGE_VAL), d);
  return in_dtype({ops::apply2(upper ? "minimum" : "maximum", n.x, ops::cast(edge, n.x.dtype())), n.kind}, d);
}

Kind common_kind(const Num& a, const Num& b) {
  if (a.is_scalar() && b.is_scalar()) return a.kind == Kind::Float || b.kind == Kind::Float ? Kind::Float : Kind::Int;
  bool zero_d = (a.is_scalar() || a.x.rank() == 0) && (b.is_scalar() || b.x.rank() == 0);
  return zero_d && is_number_dtype(common_dtype(a, b)) ? Kind::Float : Kind::Tensor;
}

DType float_dtype(DType d) { return is_inexact(d) ? d : DType::F32; }

namespace {

// Dividing ints by zero is an error. The divisor is looked at here if it is known and small, else by the code that
// divides.
graph::Attrs division_attrs(const Operand& divisor) {
  constexpr int64_t kFew = 256;
  if (!divisor.has_value() || divisor.value().num_elems() > kFew) return {{"checked", true}};
  const Tensor& t = divisor.value();
  for (int64_t i = 0, n = t.num_elems(); i < n; ++i)
    if (element_as_int(t, i) == 0)
      throw runtime_error(t.rank() == 0 ? "integer division by zero"
                                        : fmt::format("integer division by zero: element {} of the divisor is 0", i));
  return {};
}

}  // namespace

Value binary(const ops::OpDef& op, const Value& av, const Value& bv, bool to_float) {
  auto [a, b] = nums(av, bv);
  // Dividing ints by zero is an error of the program, so the divisor must be known.
  if (op.divides && a.kind == Kind::Int && b.kind == Kind::Int && to_size(bv, op.name) == Size(0))
    throw runtime_error("integer division by zero");
  DType d = common_dtype(a, b);
  Kind k = common_kind(a, b);
  if (to_float) {
    d = float_dtype(d);
    if (k == Kind::Int) k = Kind::Float;
  }
  // What bools have no operation for is done with ints.
  DType work = d == DType::Bool && !op.dtypes.has(d) ? DType::I32 : d;
  // A float comes out, which has no 32 bits to keep to.
  if (k == Kind::Float && is_int(work)) d = work = DType::I64;
  auto in_work = [&](const Num& n) {
    return op.bound == Bound::None ? in_dtype(n, work) : bound_in_dtype(n, work, op.bound == Bound::Upper);
  };
  Operand x = in_work(a), by = in_work(b);
  graph::Attrs attrs = op.divides && is_int(work) ? division_attrs(by) : graph::Attrs{};
  Operand y = ops::cast(graph::apply(op, {x, by}, std::move(attrs)), d);
  if (k == Kind::Int && d == DType::I64 && op.wrapped)
    y = trace::checked_int(op, ops::cast(a.x, d), ops::cast(b.x, d), y);
  if (k == Kind::Float) y = ops::cast(y, DType::F32);
  return to_value(y, k);
}

bool is_true(const Value& v) {
  if (is_tensor_value(v) && operand_of(v).rank() > 0) warn_always_true();
  if (!v.is_traced()) return truthy(v);
  if (auto known = trace::known_truth(v)) return *known;
  throw trace::Untraceable("the truth of a traced " + v.as_traced()->describe() + " is needed", trace::current_span());
}

bool Call::flag(std::string_view name) const {
  const Value* v = option(name);
  return v && is_true(*v);
}

Value not_value(const Value& v) {
  if (!v.is_traced()) return Value::boolean(!is_true(v));
  if (operand_of(v).rank() > 0) warn_always_true();
  if (auto known = trace::known_truth(v)) return Value::boolean(!*known);
  return to_value(ops::apply1("bit_not", trace::truth_operand(v)), Kind::Bool);
}

bool is_tensor_value(const Value& v) { return v.is_tensor() || (v.is_traced() && kind_of(v) == Kind::Tensor); }

Value tensor_value(const Operand& o) { return to_value(o, Kind::Tensor); }

Value float_value(const Operand& o) {
  if (!is_number_dtype(o.dtype())) return to_value(o, Kind::Tensor);
  return to_value(ops::cast(o, DType::F32), Kind::Float);
}

Value digits_value(const Operand& o) {
  return to_value(ops::cast(o, DType::F32), Kind::Float, o.dtype() == DType::F64 ? o : Operand());
}

void warn_if_inexact(const Operand& o) {
  if (o.dtype() != DType::I32 || !o.has_value()) return;
  int64_t v = element_as_int(o.value(), 0);
  float f = static_cast<float>(v);
  if (static_cast<int64_t>(f) != v)
    warn(fmt::format("the int {} taken out of a tensor becomes the float {}; (item x i) gives it exactly", v,
                     float_text(f)));
}

Value element_value(const Operand& o) {
  switch (o.dtype()) {
    case DType::I64:
    case DType::U32: return to_value(ops::cast(o, DType::I64), Kind::Int);
    default: warn_if_inexact(o); return float_value(o);
  }
}

Value row_value(const Operand& o, Size i) {
  Operand row = o.is_node() || !i.is_const() ? ops::squeeze_axis(ops::slice_axis(o, 0, i, 1), 0)
                                             : Operand(select_axis0(o.value(), i.value()));
  return o.rank() == 1 ? element_value(row) : tensor_value(row);
}

namespace {

// A plain scalar, or an f64 tensor, from any numeric value of one element.
Value scalar_of(const Value& v, std::string_view who) {
  Value c = concrete(v);
  if (c.is_tensor()) {
    const Tensor& t = c.as_tensor();
    if (t.num_elems() != 1) throw runtime_error(fmt::format("{}: expected a number, got {}", who, short_text(c)));
    if (t.dtype == DType::F64) return c;
    ops::check_real(t, who);
    return is_float(t.dtype) ? Value::floating(static_cast<float>(element_as_double(t, 0)))
                             : Value::integer(element_as_int(t, 0));
  }
  if (c.is_bool()) return Value::integer(c.as_bool());
  if (!c.is_number()) throw runtime_error(fmt::format("{}: expected a number, got {}", who, short_text(c)));
  return c;
}

bool is_whole(double x) { return x == std::floor(x); }

std::string number_text(double x) {
  auto f = static_cast<float>(x);
  return f == x || std::isnan(x) ? brief_number(f) : fmt::format("{}", x);
}

UserError not_whole(std::string_view who, std::string_view expected, double x) {
  if (who == "index" && std::isnan(x)) return runtime_error("index cannot be NaN");
  UserError e = runtime_error(fmt::format("{}: expected {}, got {}", who, expected, number_text(x)));
  return std::isnan(x) ? e : std::move(e).hint("(int x) drops the fraction; (floor x), (round x) and (ceil x) round");
}

int64_t whole_number(const Value& v, std::string_view who, std::string_view expected) {
  Value s = scalar_of(v, who);
  if (s.is_int()) return s.as_int();
  double x = s.is_float() ? s.as_float() : element_as_double(s.as_tensor(), 0);
  if (!is_whole(x)) throw not_whole(who, expected, x);
  return saturate_to_int(x);
}

// The first element that is not a whole number.
std::optional<double> first_fraction(const Tensor& x) {
  ops::check_real(x, "index");
  if (!is_float(x.dtype)) return std::nullopt;
  Tensor t = contiguous(x);
  int64_t width = size_bytes(t.dtype);
  for (int64_t i = 0, n = t.num_elems(); i < n; ++i)
    if (double e = load_double(t.dtype, t.bytes() + i * width); !is_whole(e)) return e;
  return std::nullopt;
}

}  // namespace

int64_t to_index(const Value& v, std::string_view who) { return whole_number(v, who, "a whole number"); }

double to_double(const Value& v, std::string_view who) {
  Value c = concrete(v);
  if (c.is_tensor() && c.as_tensor().num_elems() == 1 && !is_complex(c.as_tensor().dtype))
    return element_as_double(c.as_tensor(), 0);
  Value s = scalar_of(c, who);
  return s.is_int() ? static_cast<double>(s.as_int()) : s.as_double();
}

Size to_size(const Value& v, std::string_view who) {
  auto s = trace::size_value(v);
  return s ? *s : Size(to_index(v, who));
}

Size to_count(const Value& v, std::string_view who) {
  Size n = to_size(v, who);
  if (n < Size(0)) throw runtime_error(fmt::format("{}: expected 0 or more, got {}", who, n.str()));
  return n;
}

Size resolve_index(const Value& v, Size length) {
  Size i = to_size(v, "index");
  Size at = i < Size(0) ? i + length : i;
  if (at < Size(0) || at >= length)
    throw runtime_error(fmt::format("index {} out of bounds for length {}", i.str(), length.str()));
  return at;
}

int64_t resolve_index(const Value& v, int64_t length) { return resolve_index(v, Size(length)).value(); }

namespace {

// A list of sizes or other whole numbers from a list, tuple or tensor of numbers, or a single number.
Sizes to_extents(const Value& value, std::string_view who, std::string_view expected = "whole numbers") {
  if (value.is_traced()) {
    if (const Sizes* sizes = trace::size_values(operand_of(value))) return *sizes;
    if (auto sizes = trace::mixed_extents(operand_of(value))) return *std::move(sizes);
  }
  Value v = concrete(value);
  Sizes out;
  auto expect_axis = [&](const Value& x) {
    if (who == "axis" && !trace::is_numeric(x)) throw runtime_error("axis: expected a number, got " + short_text(x));
  };
  if (v.is_seq()) {
    for (const Value& x : v.items()) {
      expect_axis(x);
      if (x.is_string()) {
        bool creates = who == "zeros" || who == "ones";
        UserError e =
            runtime_error(creates ? fmt::format("shape must contain integers, got {}", short_text(x))
                                  : fmt::format("Invalid shape: expected integer, got symbol '{}'.", x.as_string()));
        e.hints.push_back("inside a quote nothing is evaluated; write the shape as an unquoted vector, e.g. [n 3]");
        throw e;
      }
      if (!trace::is_numeric(x)) {
        UserError e = runtime_error(fmt::format("shape must contain integers, got {}", short_text(x)));
        if (x.is_callable()) e.hints.push_back("arithmetic inside a shape needs parentheses, e.g. [(* 2 n) 3]");
        throw e;
      }
      auto size = trace::size_value(x);
      out.push_back(size ? *size : Size(whole_number(x, who, expected)));
    }
    return out;
  }
  if (v.is_tensor()) {
    const Tensor& t = v.as_tensor();
    if (auto x = first_fraction(t)) throw not_whole(who, expected, *x);
    for (int64_t i = 0; i < t.num_elems(); ++i)
      out.push_back(element_as_int(t, i));
    return out;
  }
  expect_axis(v);
  if (!trace::is_numeric(v)) throw runtime_error(fmt::format("shape must contain integers, got {}", short_text(v)));
  out.push_back(whole_number(v, who, expected));
  return out;
}

}  // namespace

std::vector<int64_t> to_ints(const Value& v, std::string_view who) {
  std::vector<int64_t> out;
  for (Size s : to_extents(v, who))
    out.push_back(s.value());
  return out;
}

Sizes to_shape(const Value& v, std::string_view who, bool keep_negative) {
  Sizes out = to_extents(v, who, "whole numbers as sizes");
  for (Size s : out)
    if (!keep_negative && s < Size(0))
      throw runtime_error(fmt::format("{}: sizes must not be negative, got {}", who, shape_text(out)));
  return out;
}

std::optional<int> axis_option(const Call& c, int rank, std::string_view name) {
  const Value* v = c.option(name);
  if (!v || v->is_nil()) return std::nullopt;
  return ops::check_axis(to_index(*v, name), rank);
}

namespace {

// What NumPy and PyTorch call our dtypes; "" for other names.
std::string_view dtype_elsewhere(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"float32", "f32"}, {"float", "f32"},  {"float64", "f64"}, {"double", "f64"},    {"float16", "f16"},
      {"half", "f16"},    {"int32", "i32"},  {"int", "i32"},     {"bfloat16", "bf16"}, {"int64", "i64"},
      {"long", "i64"},    {"uint32", "u32"}, {"int8", "i8"},     {"uint8", "u8"},      {"byte", "u8"},
      {"int16", "i16"},   {"short", "i16"},  {"uint16", "u16"},  {"boolean", "bool"},  {"complex64", "c64"},
      {"complex", "c64"}, {"cfloat", "c64"}};
  for (const auto& [there, here] : kNames)
    if (there == name) return here;
  return "";
}

}  // namespace

DType to_dtype(const Value& v, std::string_view who) {
  if (!is_key(v)) throw runtime_error(fmt::format("{}: expected a dtype keyword, got {}", who, short_text(v)));
  auto d = dtype_from_name(key_name(v).str());
  if (d) return *d;
  UserError e =
      runtime_error(fmt::format("{}: unknown dtype :{}. Valid dtypes: {}", who, key_name(v).str(), dtype_list()));
  if (std::string_view here = dtype_elsewhere(key_name(v).str()); !here.empty())
    e.hints.push_back(fmt::format("it is called :{} here", here));
  throw e;
}

Operand tensor_operand(const Value& v, std::string_view who, bool scalars) {
  if (is_tensor_value(v) || (scalars && trace::is_numeric(v))) return operand_of(v);
  throw runtime_error(fmt::format("{}: expected tensor, got {}", who, type_name(v)));
}

Operand index_operand(const Value& v, std::string_view who) {
  Operand o = tensor_operand(v, who, true);
  if (o.has_value()) {
    if (auto x = first_fraction(o.value()))
      throw not_whole(std::isnan(*x) ? "index" : who, "whole numbers as indices", *x);
  } else if (is_float(o.dtype())) {
    // Out of range everywhere, so the op's own check finds it. Every comparison with NaN is false.
    o = ops::where(ops::equal(ops::apply1("floor", o), o), o, ops::like(o, -HUGE_VAL));
  }
  return ops::cast(o, DType::I64);
}

Operand whole_operand(const Value& v, std::string_view who) {
  Operand o = num(v).x;
  ops::check_real(o, who);
  if (!is_float(o.dtype())) return ops::cast(o, DType::I64);
  if (!o.has_value()) return trace::checked_whole(o);
  if (auto x = first_fraction(o.value())) throw not_whole(who, "a whole number", *x);
  return ops::cast(o, DType::I64);
}

}  // namespace sheaf::builtins

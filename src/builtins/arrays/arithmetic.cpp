// + - * / // mod ** ash, and the operators that the evaluator runs inline. Scalars are computed here without an array:
// two ints exactly (overflow is an error), anything with a float in f32.
#include "builtins/arrays/arithmetic.h"

#include <fmt/format.h>

#include <cmath>

#include "builtins/arrays/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using trace::to_value;

bool is_integral(const Value& v) { return v.tag() == Tag::Int || v.tag() == Tag::Bool; }

[[noreturn]] void overflow(const char* op, const Value& a, const Value& b) {
  throw runtime_error(fmt::format("integer overflow: ({} {} {})", op, a.as_int(), b.as_int()))
      .hint("ints are 64 bits; use floats, e.g. (* 1.0 x), where a rounded result will do");
}

[[noreturn]] void by_zero(const char* op, const Value& a) {
  throw runtime_error(fmt::format("integer division by zero: ({} {} 0)", op, a.as_int()));
}

float float_mod(float a, float b) { return std::fmod(std::fmod(a, b) + b, b); }

using Binary = Value (*)(const Value&, const Value&);

// `+ a b c …`: a left fold; + returns a single argument, - negates it.
template <Binary kOp>
Value fold(Call& c) {
  Value acc = std::move(c[0]);
  for (size_t i = 1; i < c.size(); ++i)
    acc = kOp(acc, c[i]);
  return acc;
}

Value power(Call& c) {
  const Value& a = c[0];
  Value b = c[1];
  // Small integral exponents become products; x ** 1 is x itself, int or not. For an int base the exponent thus
  // determines the type, so it must be known.
  if (b.is_traced() && num(b).is_scalar() && !is_float(num(b).x.dtype()) && !is_float(num(a).x.dtype()))
    b = trace::concrete(b);
  bool wide = num(a).x.dtype() == DType::F64;
  auto small = [&]() -> int {
    if (b.is_int() && b.as_int() >= 0 && b.as_int() <= 3) return static_cast<int>(b.as_int());
    if (!b.is_float()) return -1;
    double e = wide ? b.as_double() : b.as_float();
    return e == 0 || e == 1 || e == 2 || e == 3 ? static_cast<int>(e) : -1;
  };
  switch (trace::is_numeric(b) ? small() : -1) {
    case 0: {
      if (is_plain_scalar(a)) return Value::floating(1);
      Num n = num(a);
      Kind k = common_kind(n, num(b));
      if (k == Kind::Int) k = Kind::Float;
      return to_value(ops::full({k == Kind::Float ? DType::F32 : float_dtype(n.x.dtype()), n.x.sizes()}, 1), k);
    }
    case 1: return a;
    case 2: return is_plain_scalar(a) ? Value::floating(scalar_float(a) * scalar_float(a)) : binary("mul", a, a, true);
    case 3: {
      if (is_plain_scalar(a)) return Value::floating(scalar_float(a) * scalar_float(a) * scalar_float(a));
      // Products of narrow floats would round after each step; the op for general exponents does not.
      DType d = num(a).x.dtype();
      return d == DType::BF16 || d == DType::F16 ? binary("pow", a, b, true)
                                                 : binary("mul", binary("mul", a, a, true), a, true);
    }
    default: return binary("pow", a, b, true);
  }
}

// Shifts a plain int, in integer arithmetic; a result that does not fit is an overflow.
Value shift_int(int64_t x, int64_t n) {
  if (n < 0) return Value::integer(x >> std::min<int64_t>(-(n + 1), 62) >> 1);
  int64_t r = 0;
  if (x != 0 && (n > 63 || __builtin_mul_overflow(static_cast<__int128>(x), __int128{1} << n, &r)))
    overflow("ash", Value::integer(x), Value::integer(n));
  return Value::integer(r);
}

Value shift(Call& c) {
  int64_t n = to_index(c[1], "ash");
  Num x = num(c[0]);
  constexpr int64_t kMaxFactor = 62;  // 2^n as an int
  if (is_plain_scalar(c[0]) || (x.is_scalar() && n > kMaxFactor)) {
    Value v = trace::concrete(c[0]);
    return shift_int(v.is_float() ? saturate_to_int(v.as_float()) : v.as_int(), n);
  }
  Operand v = ops::cast(x.x, DType::I64);
  if (x.is_scalar() && n >= 0) return mul_values(to_value(v, Kind::Int), Value::integer(int64_t{1} << n));
  // A shift by the width or more gives 0 (or the sign).
  Operand count = ops::constant_int(DType::I64, n < -63 ? 63 : std::min<int64_t>(std::abs(n), 63));
  Operand y = n < 0 ? ops::apply2("shift_right_signed", v, count) : ops::apply2("shift_left", v, count);
  if (n > 63) y = ops::apply2("bit_and", y, ops::constant_int(DType::I64, 0));
  return x.is_scalar() ? to_value(y, Kind::Int) : to_value(ops::cast(y, DType::I32), Kind::Tensor);
}

constexpr std::string_view kFew = "+: expected at least 2 arguments, got {}";

const BuiltinDef kBuiltins[] = {
    {"+",
     "Arithmetic",
     "(+ a b …)",
     "Sum, left to right; arrays broadcast. One argument is returned unchanged.",
     {{"(+ 19 23)", "42"}, {"(+ [1 2] 0.5)", "[1.5 2.5]"}},
     1,
     -1,
     [](Call& c) { return fold<add_values>(c); },
     {},
     Effect::None,
     kFew},
    {"-",
     "Arithmetic",
     "(- a b …)",
     "Difference, left to right; one argument is negated.",
     {{"(- 5)", "-5"}, {"(- 10 3 2)", "5"}},
     1,
     -1,
     [](Call& c) { return c.size() == 1 ? neg_value(c[0]) : fold<sub_values>(c); },
     {},
     Effect::None,
     kFew},
    {"*",
     "Arithmetic",
     "(* a b …)",
     "Product, left to right; arrays broadcast.",
     {{"(* 6 7)", "42"}, {"(* (arange 3) 1.5)", "[ 0. 1.5  3.]"}},
     2,
     -1,
     fold<mul_values>,
     {},
     Effect::None,
     kFew},
    {"/",
     "Arithmetic",
     "(/ a b …)",
     "Quotient, left to right, always a float; division by zero gives inf or NaN.",
     {{"(/ 9 4)", "2.25"}, {"(/ 1 0)", "inf"}},
     2,
     -1,
     fold<div_values>,
     {},
     Effect::None,
     kFew},
    {"//",
     "Arithmetic",
     "(// a b …)",
     "Quotient rounded down. Dividing ints by zero is an error.",
     {{"(// -7 2)", "-4"}, {"(// (arange 5) 2)", "[0 0 1 1 2]"}},
     2,
     -1,
     fold<floor_div_values>,
     {},
     Effect::None,
     kFew},
    {"mod",
     "Arithmetic",
     "(mod a b …)",
     "Remainder with the sign of the divisor; by zero as for //.",
     {{"(mod -1 5)", "4"}},
     2,
     -1,
     fold<mod_values>,
     {},
     Effect::None,
     kFew},
    {"%",
     "Arithmetic",
     "(% a b …)",
     "Same as mod.",
     {{"(% 7 4)", "3"}},
     2,
     -1,
     fold<mod_values>,
     {},
     Effect::None,
     kFew},
    {"**",
     "Arithmetic",
     "(** a b)",
     "Power, a float; (** a 1) is a itself.",
     {{"(** 5 2)", "25.0"}, {"(** [1 2 3] 2)", "[1. 4. 9.]"}},
     2,
     2,
     power},
    {"ash",
     "Arithmetic",
     "(ash x n)",
     "Arithmetic shift: left for n >= 0, right (rounding down) for n < 0.",
     {{"(ash 1 4)", "16"}, {"(ash -5 -1)", "-3"}},
     2,
     2,
     shift},
    {"inc",
     "Arithmetic",
     "(inc x)",
     "x + 1.",
     {{"(inc 41)", "42"}},
     1,
     1,
     [](Call& c) { return add_values(c[0], Value::integer(1)); }},
    {"dec",
     "Arithmetic",
     "(dec x)",
     "x - 1.",
     {{"(dec 43)", "42"}},
     1,
     1,
     [](Call& c) { return sub_values(c[0], Value::integer(1)); }},
};

}  // namespace

Value add_values(const Value& a, const Value& b) {
  if (!is_plain_scalar(a) || !is_plain_scalar(b)) return binary("add", a, b);
  if (!is_integral(a) || !is_integral(b)) return Value::floating(scalar_float(a) + scalar_float(b));
  int64_t r;
  if (__builtin_add_overflow(a.as_int(), b.as_int(), &r)) overflow("+", a, b);
  return Value::integer(r);
}

Value sub_values(const Value& a, const Value& b) {
  if (!is_plain_scalar(a) || !is_plain_scalar(b)) return binary("sub", a, b);
  if (!is_integral(a) || !is_integral(b)) return Value::floating(scalar_float(a) - scalar_float(b));
  int64_t r;
  if (__builtin_sub_overflow(a.as_int(), b.as_int(), &r)) overflow("-", a, b);
  return Value::integer(r);
}

Value mul_values(const Value& a, const Value& b) {
  if (!is_plain_scalar(a) || !is_plain_scalar(b)) return binary("mul", a, b);
  if (!is_integral(a) || !is_integral(b)) return Value::floating(scalar_float(a) * scalar_float(b));
  int64_t r;
  if (__builtin_mul_overflow(a.as_int(), b.as_int(), &r)) overflow("*", a, b);
  return Value::integer(r);
}

Value div_values(const Value& a, const Value& b) {
  if (!is_plain_scalar(a) || !is_plain_scalar(b)) return binary("div", a, b, true);
  return Value::floating(scalar_float(a) / scalar_float(b));
}

Value floor_div_values(const Value& a, const Value& b) {
  if (!is_plain_scalar(a) || !is_plain_scalar(b)) return binary("floor_div", a, b);
  if (!is_integral(a) || !is_integral(b)) return Value::floating(std::floor(scalar_float(a) / scalar_float(b)));
  int64_t x = a.as_int(), y = b.as_int();
  if (y == 0) by_zero("//", a);
  if (y == -1) return neg_value(Value::integer(x));
  return Value::integer(x / y - (x % y != 0 && (x < 0) != (y < 0)));
}

Value mod_values(const Value& a, const Value& b) {
  if (!is_plain_scalar(a) || !is_plain_scalar(b)) return binary("mod", a, b);
  if (!is_integral(a) || !is_integral(b)) return Value::floating(float_mod(scalar_float(a), scalar_float(b)));
  int64_t x = a.as_int(), y = b.as_int();
  if (y == 0) by_zero("mod", a);
  if (y == -1) return Value::integer(0);
  int64_t r = x % y;
  return Value::integer(r != 0 && (r < 0) != (y < 0) ? r + y : r);
}

Value neg_value(const Value& a) {
  if (a.is_int() || a.is_bool()) {
    int64_t r;
    if (__builtin_sub_overflow(int64_t{0}, a.as_int(), &r)) overflow("-", Value::integer(0), a);
    return Value::integer(r);
  }
  if (a.is_float()) return a.has_more_digits() ? Value::floating_from(-a.as_double()) : Value::floating(-a.as_float());
  Num n = num(a);
  if (n.x.dtype() == DType::Bool) n.x = ops::cast(n.x, DType::I32);
  if (is_storage_only(n.x.dtype())) n.x = ops::cast(n.x, DType::I32);
  if (n.kind == Kind::Int && !is_float(n.x.dtype()))
    return sub_values(Value::integer(0), a);  // the smallest int has no negation
  Operand wide = n.kind == Kind::Float ? trace::wide_operand(a) : Operand();
  return to_value(ops::neg(n.x), n.kind == Kind::Bool ? Kind::Int : n.kind, wide ? ops::neg(wide) : wide);
}

std::span<const BuiltinDef> arithmetic_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

// Bits of ints, and of bools as single bits.
#include <fmt/format.h>

#include <algorithm>

#include "builtins/arrays/arrays.h"
#include "builtins/arrays/families.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using trace::to_value;

// An int or bool operand; narrow ints are computed in i32.
Num bits_of(const Value& v, std::string_view who) {
  Num n = v.is_list() ? Num{array_operand(v, who, DType::I32), Kind::Tensor} : num(v);
  if (is_inexact(n.x.dtype()))
    throw runtime_error(fmt::format("{}: expected ints or bools, got {}", who, short_text(v)))
        .hint("[1 2 3] is a vector of floats; [1 2 3] :i32 and (cast x :i32) are ints");
  if (is_storage_only(n.x.dtype())) n.x = ops::cast(n.x, DType::I32);
  return n;
}

Value combined(std::string_view op, const Value& a, const Value& b, std::string_view who) {
  Num p = bits_of(a, who), q = bits_of(b, who);
  DType d = common_dtype(p, q);
  bool bools = p.kind == Kind::Bool && q.kind == Kind::Bool;
  Operand y = ops::apply2(op, in_dtype(p, d), in_dtype(q, d));
  return to_value(y, bools ? Kind::Bool : p.is_scalar() && q.is_scalar() ? Kind::Int : Kind::Tensor);
}

template <const char* kOp>
Value combine(Call& c) {
  Value acc = std::move(c[0]);
  for (size_t i = 1; i < c.size(); ++i)
    acc = combined(kOp, acc, c[i], c.def.name);
  return acc;
}

Value invert(Call& c) {
  Num n = bits_of(c[0], c.def.name);
  return to_value(ops::apply1("bit_not", n.x), n.kind);
}

// Of two numbers as they are: an int that does not hold the result is an error.
Value shifted_number(int64_t x, int64_t n, bool left, std::string_view who) {
  if (n < 0) throw runtime_error(fmt::format("{}: expected 0 or more places, got {}", who, n));
  if (!left) return Value::integer(x >> std::min<int64_t>(n, 63));
  int64_t y = 0;
  if (x != 0 && (n > 62 || __builtin_mul_overflow(x, int64_t{1} << n, &y)))
    throw runtime_error(fmt::format("integer overflow: ({} {} {})", who, x, n));
  return Value::integer(y);
}

// The ops count modulo the width; here a shift by the width or more leaves nothing, or the sign.
template <bool kLeft>
Value shift(Call& c) {
  Num x = bits_of(c[0], c.def.name), n = bits_of(c[1], c.def.name);
  if (is_plain_scalar(c[0]) && is_plain_scalar(c[1]))
    return shifted_number(c[0].as_int(), c[1].as_int(), kLeft, c.def.name);
  DType d = common_dtype(x, n);
  if (d == DType::Bool) d = DType::I32;
  Operand v = in_dtype(x, d), count = in_dtype(n, d);
  Operand last = ops::constant_int(d, size_bytes(d) * 8 - 1), is_far = ops::less(last, count);
  count = ops::apply2("minimum", count, last);
  bool is_signed = d != DType::U32;
  Operand y = ops::apply2(kLeft ? "shift_left" : is_signed ? "shift_right_signed" : "shift_right", v, count);
  if (kLeft || !is_signed) y = ops::where(is_far, ops::constant_int(d, 0), y);
  return to_value(y, x.is_scalar() && n.is_scalar() ? Kind::Int : Kind::Tensor);
}

constexpr char kAnd[] = "bit_and", kOr[] = "bit_or", kXor[] = "bit_xor";
constexpr std::string_view kBits = "Bits";

const BuiltinDef kBuiltins[] = {
    {"bitwise-and",
     kBits,
     "(bitwise-and a b …)",
     "The bits that all of them have, of ints or bools; arrays broadcast.",
     {{"(bitwise-and 12 10)", "8"}, {"(bitwise-and (arange 5) 1)", "[0 1 0 1 0]"}},
     1,
     -1,
     combine<kAnd>},
    {"bitwise-or",
     kBits,
     "(bitwise-or a b …)",
     "The bits that one of them has, of ints or bools; arrays broadcast.",
     {{"(bitwise-or 12 10)", "14"}},
     1,
     -1,
     combine<kOr>},
    {"bitwise-xor",
     kBits,
     "(bitwise-xor a b …)",
     "The bits that an odd number of them has, of ints or bools; arrays broadcast.",
     {{"(bitwise-xor 12 10)", "6"}},
     1,
     -1,
     combine<kXor>},
    {"bitwise-not",
     kBits,
     "(bitwise-not x)",
     "All bits the other way, of ints or bools: -x - 1.",
     {{"(bitwise-not 5)", "-6"}, {"(bitwise-not (> [1 5] 3))", "[true false]"}},
     1,
     1,
     invert},
    {"left-shift",
     kBits,
     "(left-shift x n)",
     "Bits of ints moved n places up, which is x * 2^n. Elements of arrays drop what does not fit, a number that does "
     "not fit is an error.",
     {{"(left-shift 3 4)", "48"}, {"(left-shift 1 (arange 4))", "[1 2 4 8]"}},
     2,
     2,
     shift<true>},
    {"right-shift",
     kBits,
     "(right-shift x n)",
     "Bits of ints moved n places down, which is x / 2^n rounded down.",
     {{"(right-shift 48 4)", "3"}, {"(right-shift -5 1)", "-3"}},
     2,
     2,
     shift<false>},
};

}  // namespace

std::span<const BuiltinDef> bits_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

#include "codegen/gpu/arithmetic.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using loop::Combine;
using loop::Op;

std::string words(std::string_view format, const Arithmetic::Operands& x) {
  return fmt::format(fmt::runtime(format), x[0], x[1], x[2]);
}

// The shortest digits that give the number back; what digits say badly is written as its bits.
template <class T>
std::string real_constant(T x, std::string_view from_bits, uint64_t bits) {
  if (!std::isfinite(x) || std::fpclassify(x) == FP_SUBNORMAL)
    return fmt::format(fmt::runtime(from_bits), fmt::format("{:#x}{}", bits, sizeof(T) == 8 ? "ull" : "u"));
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return sizeof(T) == 4 ? text + "f" : text;
}

}  // namespace

std::string Arithmetic::constant(DType d, int64_t bits) {
  switch (d) {
    case DType::F32: {
      auto word = static_cast<uint32_t>(bits);
      return real_constant(std::bit_cast<float>(word), helpers_.words(d).from_bits, word);
    }
    case DType::F64:
      return real_constant(std::bit_cast<double>(bits), helpers_.words(d).from_bits, static_cast<uint64_t>(bits));
    case DType::Bool: return (bits & 1) != 0 ? "true" : "false";
    case DType::U32: return fmt::format("{}u", static_cast<uint32_t>(bits));
    case DType::I64:
      if (bits == std::numeric_limits<int64_t>::min()) return "(-0x7fffffffffffffffll - 1)";
      return bits == static_cast<int32_t>(bits) && bits != std::numeric_limits<int32_t>::min()
                 ? fmt::format("{}", bits)
                 : fmt::format("{}ll", bits);
    case DType::I32: {
      auto x = static_cast<int32_t>(bits);
      return x == std::numeric_limits<int32_t>::min() ? "(-0x7fffffff - 1)" : fmt::format("{}", x);
    }
    case DType::BF16:
    case DType::F16:
    case DType::U16: return fmt::format("{}", static_cast<uint16_t>(bits));
    case DType::I8: return fmt::format("{}", static_cast<int8_t>(bits));
    case DType::U8: return fmt::format("{}", static_cast<uint8_t>(bits));
    case DType::I16: return fmt::format("{}", static_cast<int16_t>(bits));
    case DType::C64: break;  // 64 bits to kernels
  }
  return "";
}

std::string Arithmetic::convert(DType from, DType to, const std::string& x) {
  if (from == to) return x;
  auto cast = [&] { return fmt::format("({}){}", type_name(to), x); };
  auto call = [&](DType a, DType b, const std::string& v) {
    return fmt::format("{}({})", helpers_.conversion(a, b), v);
  };
  // Narrow floats go by way of f32.
  if (from == DType::BF16 || from == DType::F16) return convert(DType::F32, to, call(from, DType::F32, x));
  if (to == DType::BF16 || to == DType::F16) return call(DType::F32, to, convert(from, DType::F32, x));
  if (to == DType::Bool) return fmt::format("{} != 0", x);
  if (is_real(from) && is_real(to)) return to == DType::F64 ? cast() : fmt::format("__double2float_rn({})", x);
  if (is_real(from)) return call(from, to, x);
  if (!is_real(to)) return cast();
  std::string_view source = from == DType::I64 ? "ll" : from == DType::U32 ? "uint" : "int";
  return fmt::format("__{}2{}_rn({})", source, to == DType::F64 ? "double" : "float", x);
}

std::string Arithmetic::bitcast(DType from, DType to, const std::string& x) {
  auto call = [&](std::string_view name) { return fmt::format("{}({})", name, x); };
  if (from == DType::F32) return to == DType::U32 ? call("__float_as_uint") : to == from ? x : call("__float_as_int");
  if (to == DType::F32) return call(from == DType::U32 ? "__uint_as_float" : "__int_as_float");
  if (from == DType::F64) return to == from ? x : call("__double_as_longlong");
  if (to == DType::F64) return call("__longlong_as_double");
  return from == to ? x : fmt::format("({}){}", type_name(to), x);
}

std::string Arithmetic::apply(const loop::Inst& inst, const Operands& x) {
  const DType d = inst.type;
  auto infix = [&](std::string_view sign) { return fmt::format("{} {} {}", x[0], sign, x[1]); };
  auto call = [&](Op op, int operands) {
    std::string name = helpers_.operation(op, d);
    return operands == 1   ? fmt::format("{}({})", name, x[0])
           : operands == 2 ? fmt::format("{}({}, {})", name, x[0], x[1])
                           : fmt::format("{}({}, {}, {})", name, x[0], x[1], x[2]);
  };
  const bool is_bool = d == DType::Bool, wraps_by_itself = d == DType::U32;
  const FloatWords& w = helpers_.words(d);
  switch (inst.op) {
    case Op::Add: return is_real(d) ? words(w.add, x) : wraps_by_itself ? infix("+") : call(inst.op, 2);
    case Op::Sub: return is_real(d) ? words(w.sub, x) : wraps_by_itself ? infix("-") : call(inst.op, 2);
    case Op::Mul: return is_real(d) ? words(w.mul, x) : wraps_by_itself ? infix("*") : call(inst.op, 2);
    case Op::Div: return is_real(d) ? words(w.div, x) : call(inst.op, 2);
    case Op::Fma:
      if (is_real(d)) return words(w.fma, x);
      return wraps_by_itself ? fmt::format("{} * {} + {}", x[0], x[1], x[2]) : call(inst.op, 3);
    case Op::Neg: return is_real(d) || wraps_by_itself ? fmt::format("-{}", x[0]) : call(inst.op, 1);
    case Op::Abs: return is_real(d) ? words(w.abs, x) : wraps_by_itself ? x[0] : call(inst.op, 1);
    case Op::Min:
    case Op::Max:
      if (is_real(d)) return call(inst.op, 2);
      if (is_bool) return infix(inst.op == Op::Min ? "&&" : "||");
      return fmt::format("{0} {2} {1} ? {0} : {1}", x[0], x[1], inst.op == Op::Min ? '<' : '>');
    case Op::FloorDiv: return is_real(d) ? words(w.floor, {words(w.div, x), "", ""}) : call(inst.op, 2);
    case Op::FloorMod:
    case Op::Rem: return call(inst.op, 2);
    case Op::Sqrt: return words(w.sqrt, x);
    case Op::Floor: return words(w.floor, x);
    case Op::Ceil: return words(w.ceil, x);
    case Op::Trunc: return words(w.trunc, x);
    case Op::Rint: return words(w.rint, x);
    case Op::Round: return call(inst.op, 1);
    case Op::And: return infix(is_bool ? "&&" : "&");
    case Op::Or: return infix(is_bool ? "||" : "|");
    case Op::Xor: return infix(is_bool ? "!=" : "^");
    case Op::Not: return fmt::format("{}{}", is_bool ? '!' : '~', x[0]);
    case Op::Shl: return wraps_by_itself ? fmt::format("{} << ({} & 31)", x[0], x[1]) : call(inst.op, 2);
    case Op::Shr: return wraps_by_itself ? fmt::format("{} >> ({} & 31)", x[0], x[1]) : call(inst.op, 2);
    case Op::Sar: return call(inst.op, 2);
    case Op::Lt: return infix("<");
    case Op::Le: return infix("<=");
    case Op::Gt: return infix(">");
    case Op::Ge: return infix(">=");
    case Op::Eq: return infix("==");
    case Op::Ne: return infix("!=");
    case Op::Select:
    case Op::Seldom: return fmt::format("{} ? {} : {}", x[0], x[1], x[2]);
    case Op::Convert: return convert(inst.from, d, x[0]);
    case Op::Bitcast: return bitcast(inst.from, d, x[0]);
    default: break;
  }
  INVARIANT(false, "no text for " << scalar::name_of(inst.op));
  return "";
}

std::string Arithmetic::identity(Combine c, DType d) {
  const bool lowest = c == Combine::Max || c == Combine::ArgMax;
  if (c == Combine::Sum) return is_real(d) ? constant(d, 0) : d == DType::Bool ? "false" : "0";
  if (c == Combine::Prod) return d == DType::F32 ? "1.0f" : d == DType::F64 ? "1.0" : d == DType::Bool ? "true" : "1";
  switch (d) {
    case DType::F32: return constant(d, lowest ? 0xff800000 : 0x7f800000);
    case DType::F64: return constant(d, static_cast<int64_t>(lowest ? 0xfff0000000000000 : 0x7ff0000000000000));
    case DType::Bool: return lowest ? "false" : "true";
    case DType::U32: return lowest ? "0u" : "0xffffffffu";
    case DType::I32:
      return constant(d, lowest ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max());
    default: return constant(d, lowest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max());
  }
}

std::string Arithmetic::combine(Combine c, DType d, const std::string& a, const std::string& b) {
  const Op op = c == Combine::Sum ? Op::Add : c == Combine::Prod ? Op::Mul : c == Combine::Max ? Op::Max : Op::Min;
  if (d == DType::Bool) return fmt::format("{} {} {}", a, c == Combine::Sum || c == Combine::Max ? "||" : "&&", b);
  return apply({op, d, d}, {a, b, ""});
}

std::string Arithmetic::replaces(Combine c, DType d, const std::string& x, const std::string& best) {
  std::string better = fmt::format("{} {} {}", x, c == Combine::ArgMax ? '>' : '<', best);
  return is_real(d) ? fmt::format("{0} == {0} && ({2} || {1} != {1})", best, x, better) : better;
}

std::string Arithmetic::ties(DType d, const std::string& x, const std::string& y) {
  return is_real(d) ? fmt::format("({0} == {1} || ({0} != {0} && {1} != {1}))", x, y) : fmt::format("{} == {}", x, y);
}

}  // namespace sheaf::codegen::gpu

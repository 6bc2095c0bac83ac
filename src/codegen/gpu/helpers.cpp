#include "codegen/gpu/helpers.h"

#include <fmt/format.h>

#include "support/error.h"

namespace sheaf::codegen::gpu {
namespace {

using scalar::Op;

std::string_view unsigned_name(DType d) { return d == DType::I64 ? "unsigned long long" : "unsigned"; }

// Remainder with the sign of x, exact: x and y as integers m * 2^e, and m_x * 2^(e_x - e_y) mod m_y some bits at a
// time.
constexpr std::string_view kFmod = R"({function} {real} {name}({real} x, {real} y) {{
  const {bits} ux = {to_bits}(x), uy = {to_bits}(y), sign = ux & {sign}, one = {implicit};
  const {bits} ax = ux ^ sign, ay = uy & ~{sign};
  if (ay == 0 || ax >= {infinity} || ay > {infinity}) return {nan};
  if (ax < ay) return x;
  int ex = (int)(ax >> {mantissa}), ey = (int)(ay >> {mantissa});
  unsigned long long mx = ax & (one - 1), my = ay & (one - 1);
  if (ex > 0) mx |= one; else ex = 1;
  if (ey > 0) my |= one; else ey = 1;
  mx %= my;
  for (int left = ex - ey; left > 0; left -= {step}) mx = (mx << (left < {step} ? left : {step})) % my;
  if (mx == 0) return {from_bits}(sign);
  while (mx < one && ey > 1) mx <<= 1, --ey;
  const {bits} low = ({bits})mx, normal = ((low - one) | (({bits})ey << {mantissa}));
  return {from_bits}(sign | (mx < one ? low : normal));
}}
)";

}  // namespace

bool is_real(DType d) { return d == DType::F32 || d == DType::F64; }

std::string_view type_name(DType d) {
  switch (d) {
    case DType::F32: return "float";
    case DType::F64: return "double";
    case DType::I32: return "int";
    case DType::I64: return "long long";
    case DType::U32: return "unsigned";
    case DType::Bool: return "bool";
    case DType::I8: return "signed char";
    case DType::U8: return "unsigned char";
    case DType::I16: return "short";
    default: return "unsigned short";  // u16, bf16, f16
  }
}

std::string Helpers::function(std::string name, const std::function<std::string(const std::string& name)>& text) {
  if (known_.insert(name).second) {
    std::string own = text(name);  // what it calls comes first
    text_ += own + "\n";
  }
  return name;
}

std::string Helpers::operation(Op op, DType d) {
  return function(fmt::format("{}_{}", scalar::name_of(op), sheaf::name_of(d)), [&](const std::string& name) {
    if (op == Op::Rem && is_real(d)) {
      const bool wide = d == DType::F64;
      return fmt::format(
          fmt::runtime(kFmod), fmt::arg("function", dialect_.function), fmt::arg("real", type_name(d)),
          fmt::arg("name", name), fmt::arg("bits", wide ? "unsigned long long" : "unsigned"),
          fmt::arg("to_bits", wide ? "__double_as_longlong" : "__float_as_uint"),
          fmt::arg("from_bits", wide ? "__longlong_as_double" : "__uint_as_float"),
          fmt::arg("sign", wide ? "0x8000000000000000ull" : "0x80000000u"),
          fmt::arg("implicit", wide ? "1ull << 52" : "1u << 23"),
          fmt::arg("infinity", wide ? "0x7ff0000000000000ull" : "0x7f800000u"),
          fmt::arg("nan", wide ? "__longlong_as_double(0x7ff8000000000000ll)" : "__uint_as_float(0x7fc00000u)"),
          fmt::arg("mantissa", wide ? 52 : 23), fmt::arg("step", wide ? 11 : 40));
    }
    std::string body = is_real(d) ? real_body(op, d) : integer_body(op, d);
    std::string_view type = type_name(d);
    std::string parameters = fmt::format("{} a", type);
    if (op == Op::Fma)
      parameters += fmt::format(", {0} b, {0} c", type);
    else if (op != Op::Neg && op != Op::Abs && op != Op::Round)
      parameters += fmt::format(", {} b", type);
    return fmt::format("{} {} {}({}) {{\n{}}}\n", dialect_.function, type, name, parameters, body);
  });
}

// Operands that wrap are computed unsigned, as signed overflow has no meaning in C.
std::string Helpers::integer_body(Op op, DType d) {
  const std::string_view t = type_name(d), u = unsigned_name(d);
  const bool has_sign = d != DType::U32;
  const int last_bit = size_bytes(d) * 8 - 1;
  auto returns = [](std::string expression) { return fmt::format("  return {};\n", expression); };
  auto wrapped = [&](std::string_view format) {
    return returns(fmt::format("({})({})", t, fmt::format(fmt::runtime(format), fmt::arg("u", u))));
  };
  switch (op) {
    case Op::Add: return wrapped("({u})a + ({u})b");
    case Op::Sub: return wrapped("({u})a - ({u})b");
    case Op::Mul: return wrapped("({u})a * ({u})b");
    case Op::Fma: return wrapped("({u})a * ({u})b + ({u})c");
    case Op::Neg: return wrapped("0 - ({u})a");
    case Op::Abs: return returns(fmt::format("a < 0 ? ({})(0 - ({})a) : a", t, u));
    case Op::Div:
      return fmt::format("{}{}", has_sign ? fmt::format("  if (b == -1) return ({})(0 - ({})a);\n", t, u) : "",
                         returns("b == 0 ? 0 : a / b"));
    case Op::Rem: return returns(has_sign ? "b == 0 || b == -1 ? 0 : a % b" : "b == 0 ? 0 : a % b");
    case Op::FloorDiv: {
      if (!has_sign) return returns(fmt::format("{}(a, b)", operation(Op::Div, d)));
      const std::string div = operation(Op::Div, d), rem = operation(Op::Rem, d);
      return fmt::format("  const {0} q = {1}(a, b);\n  return {2}(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;\n", t,
                         div, rem);
    }
    case Op::FloorMod: {
      if (!has_sign) return returns(fmt::format("{}(a, b)", operation(Op::Rem, d)));
      return fmt::format("  const {0} r = {1}(a, b);\n  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n", t,
                         operation(Op::Rem, d));
    }
    case Op::Shl: return wrapped(fmt::format("({{u}})a << (b & {})", last_bit));
    case Op::Shr: return wrapped(fmt::format("({{u}})a >> (b & {})", last_bit));
    case Op::Sar: {
      std::string_view with_sign = d == DType::I64 ? "long long" : "int";
      return returns(fmt::format("({})(({})a >> (b & {}))", t, with_sign, last_bit));
    }
    default: break;
  }
  INVARIANT(false, "no function for " << scalar::name_of(op));
  return "";
}

std::string Helpers::by_instruction(std::string_view instruction, std::string_view type, char to,
                                    std::string_view operands, const std::string& body) const {
  return fmt::format(fmt::runtime(dialect_.by_instruction), fmt::arg("type", type),
                     fmt::arg("instruction", instruction), fmt::arg("to", to), fmt::arg("operands", operands),
                     fmt::arg("body", body));
}

std::string Helpers::real_body(Op op, DType d) {
  const FloatWords& w = words(d);
  auto call = [](std::string_view format, auto... x) { return fmt::format(fmt::runtime(format), x...); };
  const std::string_view half = d == DType::F64 ? "0.5" : "0.5f", one = d == DType::F64 ? "1.0" : "1.0f";
  const std::string_view sign = d == DType::F64 ? "__double_as_longlong" : "__float_as_int";
  switch (op) {
    // A NaN wins, and -0 is less than +0.
    case Op::Min:
    case Op::Max: {
      const std::string body = fmt::format(
          "  if (a != a) return a;\n  if (b != b) return b;\n"
          "  return a {} b || (a == b && {}({}) < 0) ? a : b;\n",
          op == Op::Min ? '<' : '>', sign, op == Op::Min ? 'a' : 'b');
      if (d == DType::F64) return body;
      const char* instruction = op == Op::Min ? "min.NaN.f32 %0, %1, %2" : "max.NaN.f32 %0, %1, %2";
      return by_instruction(instruction, "float", 'f', R"("f"(a), "f"(b))", body);
    }
    case Op::FloorMod: {
      const std::string fmod = operation(Op::Rem, d);
      return fmt::format("  return {}({}, b);\n", fmod, call(w.add, fmod + "(a, b)", "b"));
    }
    case Op::Round:
      return fmt::format("  const {} t = {};\n  return {} >= {} ? {} : t;\n", type_name(d), call(w.trunc, "a"),
                         call(w.abs, call(w.sub, "a", "t")), half,
                         call(w.add, "t", fmt::format("({}(a) < 0 ? -{} : {})", sign, one, one)));
    default: break;
  }
  INVARIANT(false, "no function for " << scalar::name_of(op));
  return "";
}

std::string Helpers::conversion(DType from, DType to) {
  return function(fmt::format("{}_from_{}", sheaf::name_of(to), sheaf::name_of(from)), [&](const std::string& name) {
    auto text = [&](std::string_view body) {
      return fmt::format("{} {} {}({} x) {{\n{}}}\n", dialect_.function, type_name(to), name, type_name(from), body);
    };
    if (from == DType::BF16) return text("  return __uint_as_float((unsigned)x << 16);\n");
    if (from == DType::F16)
      return text(by_instruction(
          "cvt.f32.f16 %0, %1", "float", 'f', R"("h"(x))",
          "  const unsigned sign = (unsigned)(x & 0x8000) << 16, rest = x & 0x7fffu;\n"
          "  if (rest >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));\n"
          "  if (rest >= 0x400u) return __uint_as_float(sign | ((rest << 13) + (112u << 23)));\n"
          "  return __uint_as_float(sign | __float_as_uint(__fmul_rn(__uint2float_rn(rest), 5.9604644775390625e-8f)));"
          "  // denormals: multiples of 2^-24\n"));
    if (to == DType::BF16)
      return text(by_instruction("cvt.rn.bf16.f32 %0, %1", "unsigned short", 'h', R"("f"(x))",
                                 "  const unsigned u = __float_as_uint(x);\n"
                                 "  if (x != x) return (unsigned short)((u >> 16) | 0x40);\n"
                                 "  return (unsigned short)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);\n"));
    if (to == DType::F16)
      return text(by_instruction(
          "cvt.rn.f16.f32 %0, %1", "unsigned short", 'h', R"("f"(x))",
          "  const unsigned bits = __float_as_uint(x), sign = (bits >> 16) & 0x8000u, u = bits & 0x7fffffffu;\n"
          "  if (u > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);\n"
          "  if (u >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);\n"
          "  if (u >= 0x38800000u)\n"
          "    return (unsigned short)(sign | ((u + 0xfffu + ((u >> 13) & 1) - (112u << 23)) >> 13));\n"
          "  // A denormal is rounded by an addition: the last place of 0.5f is the smallest of them.\n"
          "  return (unsigned short)(sign | (__float_as_uint(__fadd_rn(__uint_as_float(u), 0.5f)) - 0x3f000000u));\n"));
    // Float to integer: truncates, saturates, and NaN is 0.
    INVARIANT(is_real(from) && is_int(to), "conversion of " << sheaf::name_of(from) << " to " << sheaf::name_of(to));
    const bool has_sign = to == DType::I8 || to == DType::I16 || to == DType::I32 || to == DType::I64;
    const int bits = size_bytes(to) * 8 - has_sign;
    std::string_view suffix = from == DType::F64 ? "" : "f";
    auto power = [&] {
      return fmt::format("{}.0{}", bits == 63 ? "9223372036854775808" : std::to_string(1ull << bits), suffix);
    };
    std::string high = to == DType::I64   ? "0x7fffffffffffffffll"
                       : to == DType::U32 ? "0xffffffffu"
                                          : std::to_string((1ull << bits) - 1);
    std::string low = !has_sign ? "0" : fmt::format("-{} - 1", high);
    return text(
        fmt::format("  if (x >= {0}) return ({3}){1};\n  if (x <= {4}) return ({3})({2});\n"
                    "  return x != x ? 0 : ({3})x;\n",
                    power(), high, low, type_name(to), has_sign ? "-" + power() : "0.0" + std::string(suffix)));
  });
}

std::string Helpers::pack(DType d, int length) {
  return function(fmt::format("{}x{}", sheaf::name_of(d), length), [&](const std::string& name) {
    return fmt::format(fmt::runtime(dialect_.pack), name, type_name(d), length, length * size_bytes(d));
  });
}

std::string Helpers::failed_check() {
  return function("fail_check", [&](const std::string&) { return std::string(dialect_.failed_check); });
}

void Helpers::matrix_units() {
  function("matrix units", [&](const std::string&) { return std::string(dialect_.matrix_units); });
}

}  // namespace sheaf::codegen::gpu

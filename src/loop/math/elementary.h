// The elementary functions of the IR on C++ scalars: the expansions, built at once from the operations of scalar_ops.h.
// A loop over one of them becomes vector code when everything is inlined (attribute flatten).
#pragma once
#include "loop/math/math_functions.h"
#include "loop/scalar_ops.h"

namespace sheaf::loop {

// A builder (see scalar.h) whose values are plain C++ scalars.
struct NativeBuilder {
  template <class T> using Tag = std::type_identity<T>;
  static constexpr Tag<float> F32{};
  static constexpr Tag<double> F64{};
  static constexpr Tag<int32_t> I32{};
  static constexpr Tag<int64_t> I64{};
  static constexpr Tag<uint32_t> U32{};

  static float f32(float x) { return x; }
  static double f64(double x) { return x; }
  static int32_t i32(int32_t x) { return x; }
  static int64_t i64(int64_t x) { return x; }
  static uint32_t u32(uint32_t x) { return x; }

#define SHEAF_NATIVE_1(name, op) \
  template <class T>             \
  static T name(T a) { return scalar::apply<Op::op>(a); }
#define SHEAF_NATIVE_2(name, op) \
  template <class T>             \
  static T name(T a, T b) { return scalar::apply<Op::op>(a, b); }
#define SHEAF_NATIVE_COMPARE(name, op) \
  template <class T>                   \
  static bool name(T a, T b) { return scalar::compare<Op::op>(a, b); }
  SHEAF_NATIVE_1(neg, Neg) SHEAF_NATIVE_1(abs, Abs) SHEAF_NATIVE_1(sqrt, Sqrt) SHEAF_NATIVE_1(floor, Floor)
  SHEAF_NATIVE_1(ceil, Ceil) SHEAF_NATIVE_1(trunc, Trunc) SHEAF_NATIVE_1(rint, Rint) SHEAF_NATIVE_1(not_, Not)
  SHEAF_NATIVE_2(add, Add) SHEAF_NATIVE_2(sub, Sub) SHEAF_NATIVE_2(mul, Mul) SHEAF_NATIVE_2(div, Div)
  SHEAF_NATIVE_2(min, Min) SHEAF_NATIVE_2(max, Max) SHEAF_NATIVE_2(and_, And) SHEAF_NATIVE_2(or_, Or) SHEAF_NATIVE_2(xor_, Xor)
  SHEAF_NATIVE_2(shl, Shl) SHEAF_NATIVE_2(shr, Shr) SHEAF_NATIVE_2(sar, Sar)
  SHEAF_NATIVE_COMPARE(lt, Lt) SHEAF_NATIVE_COMPARE(le, Le) SHEAF_NATIVE_COMPARE(gt, Gt)
  SHEAF_NATIVE_COMPARE(ge, Ge) SHEAF_NATIVE_COMPARE(eq, Eq) SHEAF_NATIVE_COMPARE(ne, Ne)
#undef SHEAF_NATIVE_1
#undef SHEAF_NATIVE_2
#undef SHEAF_NATIVE_COMPARE

  template <class T>
  static T fma(T a, T b, T c) { return scalar::apply<Op::Fma>(a, b, c); }
  template <class T>
  static T select(bool c, T a, T b) { return c ? a : b; }
  static int32_t bitcast_f32_i32(float a) { return std::bit_cast<int32_t>(a); }
  static float bitcast_i32_f32(int32_t a) { return std::bit_cast<float>(a); }
  static int64_t bitcast_f64_i64(double a) { return std::bit_cast<int64_t>(a); }
  static double bitcast_i64_f64(int64_t a) { return std::bit_cast<double>(a); }
  template <class To, class From>
  static To convert(From a, Tag<To>) { return scalar::convert<To>(a); }
};

template <class T>
struct math::Kept<NativeBuilder, T> {
  using type = T;
};

// `y` is the second operand of Pow and Atan2.
template <Op op, class T>
inline T elementary(T x, [[maybe_unused]] T y = T{}) {
  NativeBuilder builder;
  math::Scalar<NativeBuilder, T> a(builder, x), b(builder, y);
  if constexpr (op == Op::Exp) return exp(a).v;
  else if constexpr (op == Op::Log) return log(a).v;
  else if constexpr (op == Op::Sin) return sin(a).v;
  else if constexpr (op == Op::Cos) return cos(a).v;
  else if constexpr (op == Op::Tan) return tan(a).v;
  else if constexpr (op == Op::Tanh) return tanh(a).v;
  else if constexpr (op == Op::Pow) return pow(a, b).v;
  else if constexpr (op == Op::Erf) return erf(a).v;
  else if constexpr (op == Op::Expm1) return expm1(a).v;
  else if constexpr (op == Op::Log1p) return log1p(a).v;
  else if constexpr (op == Op::Atan2) return atan2(a, b).v;
  else return erfinv(a).v;
}

}  // namespace sheaf::loop

// The elementary functions of the IR on C++ scalars: evaluates the expansions directly with the operations of
// scalar_ops.h.
#pragma once
#include "scalar/math/math_functions.h"
#include "scalar/scalar_ops.h"

namespace sheaf::scalar {

// A builder (see scalar.h) whose values are plain C++ scalars.
struct NativeBuilder {
  template <class T>
  using Tag = std::type_identity<T>;
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

#define SHEAF_NATIVE_1(name, op)     \
  template <class T>                 \
  static T name(T a) {               \
    return scalar::apply<Op::op>(a); \
  }
#define SHEAF_NATIVE_2(name, op)        \
  template <class T>                    \
  static T name(T a, T b) {             \
    return scalar::apply<Op::op>(a, b); \
  }
#define SHEAF_NATIVE_COMPARE(name, op)    \
  template <class T>                      \
  static bool name(T a, T b) {            \
    return scalar::compare<Op::op>(a, b); \
  }
  SHEAF_NATIVE_1(neg, Neg)
  SHEAF_NATIVE_1(abs, Abs)
  SHEAF_NATIVE_1(sqrt, Sqrt)
  SHEAF_NATIVE_1(floor, Floor)
  SHEAF_NATIVE_1(ceil, Ceil)
  SHEAF_NATIVE_1(trunc, Trunc)
  SHEAF_NATIVE_1(rint, Rint)
  SHEAF_NATIVE_1(not_, Not)
  SHEAF_NATIVE_2(add, Add)
  SHEAF_NATIVE_2(sub, Sub)
  SHEAF_NATIVE_2(mul, Mul)
  SHEAF_NATIVE_2(div, Div)
  SHEAF_NATIVE_2(min, Min)
  SHEAF_NATIVE_2(max, Max)
  SHEAF_NATIVE_2(and_, And)
  SHEAF_NATIVE_2(or_, Or)
  SHEAF_NATIVE_2(xor_, Xor)
  SHEAF_NATIVE_2(shl, Shl)
  SHEAF_NATIVE_2(shr, Shr)
  SHEAF_NATIVE_2(sar, Sar)
  SHEAF_NATIVE_COMPARE(lt, Lt)
  SHEAF_NATIVE_COMPARE(le, Le)
  SHEAF_NATIVE_COMPARE(gt, Gt)
  SHEAF_NATIVE_COMPARE(ge, Ge)
  SHEAF_NATIVE_COMPARE(eq, Eq)
  SHEAF_NATIVE_COMPARE(ne, Ne)
#undef SHEAF_NATIVE_1
#undef SHEAF_NATIVE_2
#undef SHEAF_NATIVE_COMPARE

  template <class T>
  static T fma(T a, T b, T c) {
    return scalar::apply<Op::Fma>(a, b, c);
  }
  template <class T>
  static T select(bool c, T a, T b) {
    return c ? a : b;
  }
  template <class T>
  static T seldom(bool c, T a, T b) {
    return c ? a : b;
  }
  static int32_t bitcast_f32_i32(float a) { return std::bit_cast<int32_t>(a); }
  static float bitcast_i32_f32(int32_t a) { return std::bit_cast<float>(a); }
  static int64_t bitcast_f64_i64(double a) { return std::bit_cast<int64_t>(a); }
  static double bitcast_i64_f64(int64_t a) { return std::bit_cast<double>(a); }
  template <class To, class From>
  static To convert(From a, Tag<To>) {
    return scalar::convert<To>(a);
  }
};

template <class T>
struct math::Kept<NativeBuilder, T> {
  using type = T;
};

// The function of `op` on values of any builder; `y` is the second operand of Pow and Atan2.
template <Op op, class B, class T>
inline math::Scalar<B, T> expand(math::Scalar<B, T> x, [[maybe_unused]] math::Scalar<B, T> y) {
  if constexpr (op == Op::Exp)
    return exp(x);
  else if constexpr (op == Op::Log)
    return log(x);
  else if constexpr (op == Op::Sin)
    return sin(x);
  else if constexpr (op == Op::Cos)
    return cos(x);
  else if constexpr (op == Op::Tan)
    return tan(x);
  else if constexpr (op == Op::Tanh)
    return tanh(x);
  else if constexpr (op == Op::Pow)
    return pow(x, y);
  else if constexpr (op == Op::Erf)
    return erf(x);
  else if constexpr (op == Op::Expm1)
    return expm1(x);
  else if constexpr (op == Op::Log1p)
    return log1p(x);
  else if constexpr (op == Op::Atan2)
    return atan2(x, y);
  else if constexpr (op == Op::Sigmoid)
    return sigmoid(x);
  else
    return erfinv(x);
}

template <Op op, class T>
inline T elementary(T x, T y = T{}) {
  NativeBuilder builder;
  math::Scalar<NativeBuilder, T> a(builder, x), b(builder, y);
  return expand<op>(a, b).v;
}

}  // namespace sheaf::scalar

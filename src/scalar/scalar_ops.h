// The definition of each scalar operation of the IR, on C++ scalars. The reference executor calls these one at a time;
// the block back end instantiates loops over them, so both give the same bits. All are total and have no undefined
// behaviour. They assume -ffp-contract=off.
//
// The sign of a NaN is unspecified; everything else is defined. Min and Max propagate NaN and order -0 before +0, so
// that the result depends neither on the order of the operands nor on the bracketing.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "scalar/op.h"
#include "tensor/dtype.h"

namespace sheaf::scalar {

// The narrow floats are storage only: no arithmetic is defined on them.
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

template <DType d>
struct CppType;
template <>
struct CppType<DType::F32> {
  using type = float;
};
template <>
struct CppType<DType::F64> {
  using type = double;
};
template <>
struct CppType<DType::BF16> {
  using type = BFloat16;
};
template <>
struct CppType<DType::F16> {
  using type = Float16;
};
template <>
struct CppType<DType::I32> {
  using type = int32_t;
};
template <>
struct CppType<DType::I64> {
  using type = int64_t;
};
template <>
struct CppType<DType::U32> {
  using type = uint32_t;
};
template <>
struct CppType<DType::Bool> {
  using type = bool;
};
template <>
struct CppType<DType::I8> {
  using type = int8_t;
};
template <>
struct CppType<DType::U8> {
  using type = uint8_t;
};
template <>
struct CppType<DType::I16> {
  using type = int16_t;
};
template <>
struct CppType<DType::U16> {
  using type = uint16_t;
};
template <DType d>
using CppTypeOf = typename CppType<d>::type;

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool kIsNarrowFloat = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;
template <class T>
inline constexpr bool kIsCompute =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, uint32_t> || std::is_same_v<T, bool>;

// Calls f(std::type_identity<T>{}) with the C++ type of `d`.
template <class F>
decltype(auto) visit_dtype(DType d, F&& f) {
  switch (d) {
    case DType::F32: return f(std::type_identity<float>{});
    case DType::F64: return f(std::type_identity<double>{});
    case DType::BF16: return f(std::type_identity<BFloat16>{});
    case DType::F16: return f(std::type_identity<Float16>{});
    case DType::I32: return f(std::type_identity<int32_t>{});
    case DType::I64: return f(std::type_identity<int64_t>{});
    case DType::U32: return f(std::type_identity<uint32_t>{});
    case DType::Bool: return f(std::type_identity<bool>{});
    case DType::I8: return f(std::type_identity<int8_t>{});
    case DType::U8: return f(std::type_identity<uint8_t>{});
    case DType::I16: return f(std::type_identity<int16_t>{});
    default: return f(std::type_identity<uint16_t>{});
  }
}

template <class T>
using UnsignedOf = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool> || kIsFloat<T>, uint32_t, T>>;

template <class T>
inline T min_of(T a, T b) {
  if constexpr (kIsFloat<T>) {
#if defined(__aarch64__)
    T smaller = sizeof(T) == 4 ? T(__builtin_fminf(float(a), float(b))) : T(__builtin_fmin(double(a), double(b)));
#else
    T smaller = a < b || (a == b && std::signbit(a)) ? a : b;
#endif
    smaller = b != b ? b : smaller;
    return a != a ? a : smaller;
  } else {
    return a < b ? a : b;
  }
}
template <class T>
inline T max_of(T a, T b) {
  if constexpr (kIsFloat<T>) {
#if defined(__aarch64__)
    T larger = sizeof(T) == 4 ? T(__builtin_fmaxf(float(a), float(b))) : T(__builtin_fmax(double(a), double(b)));
#else
    T larger = a > b || (a == b && std::signbit(b)) ? a : b;
#endif
    larger = b != b ? b : larger;
    return a != a ? a : larger;
  } else {
    return a > b ? a : b;
  }
}

template <class T>
inline T int_div(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return T(UnsignedOf<T>(0) - UnsignedOf<T>(a));
  return b == 0 ? T(0) : T(a / b);
}
template <class T>
inline T int_rem(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return b == 0 ? T(0) : T(a % b);
}

// One arithmetic operation in T; operands that an operation does not take are ignored.
template <Op op, class T>
inline T apply(T a, [[maybe_unused]] T b = T{}, [[maybe_unused]] T c = T{}) {
  using U = UnsignedOf<T>;
  using Product = std::conditional_t<(sizeof(U) < 4), uint32_t,
                                     U>;  // narrow types would be promoted to int, where overflow is undefined
  if constexpr (op == Op::Add) {
    if constexpr (kIsFloat<T>)
      return a + b;
    else
      return T(U(a) + U(b));
  } else if constexpr (op == Op::Sub) {
    if constexpr (kIsFloat<T>)
      return a - b;
    else
      return T(U(a) - U(b));
  } else if constexpr (op == Op::Mul) {
    if constexpr (kIsFloat<T>)
      return a * b;
    else
      return T(Product(U(a)) * Product(U(b)));
  } else if constexpr (op == Op::Div) {
    if constexpr (kIsFloat<T>)
      return a / b;
    else
      return int_div(a, b);
  } else if constexpr (op == Op::Fma) {
    if constexpr (std::is_same_v<T, float>)
      return __builtin_fmaf(a, b, c);
    else if constexpr (kIsFloat<T>)
      return __builtin_fma(a, b, c);
    else
      return T(Product(U(a)) * Product(U(b)) + Product(U(c)));
  } else if constexpr (op == Op::Neg) {
    if constexpr (kIsFloat<T>)
      return -a;
    else
      return T(U(0) - U(a));
  } else if constexpr (op == Op::Abs) {
    if constexpr (kIsFloat<T>)
      return std::fabs(a);
    else if constexpr (std::is_signed_v<T>)
      return a < 0 ? T(U(0) - U(a)) : a;
    else
      return a;
  } else if constexpr (op == Op::Min) {
    return min_of(a, b);
  } else if constexpr (op == Op::Max) {
    return max_of(a, b);
  } else if constexpr (op == Op::FloorDiv) {
    if constexpr (kIsFloat<T>)
      return std::floor(a / b);
    else {
      T q = int_div(a, b);
      return int_rem(a, b) != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;
    }
  } else if constexpr (op == Op::FloorMod) {
    if constexpr (kIsFloat<T>)
      return std::fmod(std::fmod(a, b) + b, b);
    else {
      T r = int_rem(a, b);
      return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
    }
  } else if constexpr (op == Op::Rem) {
    if constexpr (kIsFloat<T>)
      return std::fmod(a, b);
    else
      return int_rem(a, b);
  } else if constexpr (op == Op::Sqrt) {
    return std::sqrt(a);
  } else if constexpr (op == Op::Floor) {
    return std::floor(a);
  } else if constexpr (op == Op::Ceil) {
    return std::ceil(a);
  } else if constexpr (op == Op::Trunc) {
    return std::trunc(a);
  } else if constexpr (op == Op::Rint) {
    return std::nearbyint(a);
  } else if constexpr (op == Op::Round) {
    return std::round(a);
  } else if constexpr (op == Op::And) {
    return T(a & b);
  } else if constexpr (op == Op::Or) {
    return T(a | b);
  } else if constexpr (op == Op::Xor) {
    return T(a ^ b);
  } else if constexpr (op == Op::Not) {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return T(~U(a));
  } else if constexpr (op == Op::Shl) {
    return T(U(a) << (U(b) & (sizeof(T) * 8 - 1)));
  } else if constexpr (op == Op::Shr) {
    return T(U(a) >> (U(b) & (sizeof(T) * 8 - 1)));
  } else {
    static_assert(op == Op::Sar);
    return T(std::make_signed_t<U>(a) >> (U(b) & (sizeof(T) * 8 - 1)));
  }
}

// True if `apply` (or a comparison, or an elementary function) is defined for op in the compute type T.
template <class T>
constexpr bool is_defined(Op op) {
  constexpr bool kBool = std::is_same_v<T, bool>;
  if (op >= Op::Lt && op <= Op::Ne) return true;
  if (op >= Op::Exp) return kIsFloat<T>;
  if (op >= Op::Sqrt && op <= Op::Round) return kIsFloat<T>;
  if (op >= Op::And && op <= Op::Not) return !kIsFloat<T>;
  if (op >= Op::Shl && op <= Op::Sar) return !kIsFloat<T> && !kBool;
  if (op == Op::Min || op == Op::Max) return true;
  return op >= Op::Add && op <= Op::Rem && !kBool;
}

constexpr int num_operands(Op op) {
  if (op < Op::Add) return op == Op::Load ? 1 : 0;
  if (op == Op::Fma || op == Op::Select || op == Op::Seldom) return 3;
  if (op == Op::Neg || op == Op::Abs || (op >= Op::Sqrt && op <= Op::Round) || op == Op::Not || op == Op::Convert ||
      op == Op::Bitcast)
    return 1;
  if (op >= Op::Exp) return op == Op::Pow || op == Op::Atan2 ? 2 : 1;
  return 2;
}

template <Op op, class T>
inline bool compare(T a, T b) {
  if constexpr (op == Op::Lt)
    return a < b;
  else if constexpr (op == Op::Le)
    return a <= b;
  else if constexpr (op == Op::Gt)
    return a > b;
  else if constexpr (op == Op::Ge)
    return a >= b;
  else if constexpr (op == Op::Eq)
    return a == b;
  else
    return a != b;
}

// Written without branches so that loops over them become vector code; the same bits as the functions of dtype.h.
inline BFloat16 to_bf16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
  return {static_cast<uint16_t>(x != x ? (u >> 16) | 0x40 : rounded)};
}
inline float from_bf16(BFloat16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
#if defined(__aarch64__)
inline Float16 to_f16(float x) {
  uint16_t h = std::bit_cast<uint16_t>(static_cast<__fp16>(x));
  uint16_t nan = static_cast<uint16_t>(((std::bit_cast<uint32_t>(x) >> 16) & 0x8000u) | 0x7e00u);
  return {x != x ? nan : h};
}
inline float from_f16(Float16 x) { return static_cast<float>(std::bit_cast<__fp16>(x.bits)); }
#else
inline Float16 to_f16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x), sign = (u >> 16) & 0x8000u;
  u &= 0x7fffffffu;
  uint32_t normal = (u + 0xfffu + ((u >> 13) & 1) - (112u << 23)) >> 13;
  // The FPU rounds a denormal result: the ulp of 0.5f is the smallest denormal of f16.
  uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(u < 0x38800000u ? u : 0) + 0.5f) - 0x3f000000u;
  uint32_t h = u < 0x38800000u ? denormal : normal;
  h = u >= 0x477ff000u ? 0x7c00u : h;
  h = u > 0x7f800000u ? 0x7e00u : h;
  return {static_cast<uint16_t>(sign | h)};
}
inline float from_f16(Float16 x) {
  uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  uint32_t normal = (rest << 13) + (112u << 23);
  uint32_t special = 0x7f800000u | ((rest & 0x3ffu) << 13);
  uint32_t denormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
  uint32_t u = rest < 0x400u ? denormal : normal;
  u = rest >= 0x7c00u ? special : u;
  return std::bit_cast<float>(sign | u);
}
#endif

template <class To, class From>
inline To saturate(From x) {
  // 2^(bits - 1) or 2^bits: the first value that is too large, exact in both float types.
  constexpr From kEnd = From(2) * static_cast<From>(To(1) << (std::numeric_limits<To>::digits - 1));
  constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
  bool high = x >= kEnd, low = x <= kLow, nan = x != x;
  From safe = high || low || nan ? From(0) : x;
  To t = static_cast<To>(safe);
  t = high ? std::numeric_limits<To>::max() : t;
  t = low ? std::numeric_limits<To>::min() : t;
  return t;
}

template <class To, class From>
inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, BFloat16>)
    return convert<To>(from_bf16(x));
  else if constexpr (std::is_same_v<From, Float16>)
    return convert<To>(from_f16(x));
  else if constexpr (std::is_same_v<To, BFloat16>)
    return to_bf16(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, Float16>)
    return to_f16(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (kIsFloat<To>)
    return static_cast<To>(x);
  else if constexpr (kIsFloat<From>)
    return saturate<To>(x);
  else
    return static_cast<To>(x);
}

// Reductions.
template <Combine c, class T>
constexpr T identity() {
  if constexpr (c == Combine::Sum)
    return T(0);
  else if constexpr (c == Combine::Prod)
    return T(1);
  else if constexpr (c == Combine::Max || c == Combine::ArgMax)
    return kIsFloat<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  else
    return kIsFloat<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}
template <Combine c, class T>
inline T combine(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return c == Combine::Sum || c == Combine::Max ? a | b : a & b;
  else if constexpr (c == Combine::Sum)
    return apply<Op::Add>(a, b);
  else if constexpr (c == Combine::Prod)
    return apply<Op::Mul>(a, b);
  else if constexpr (c == Combine::Max)
    return max_of(a, b);
  else
    return min_of(a, b);
}

// True if element x replaces the best so far in an ArgMax or ArgMin; x comes later. Equality is IEEE's here: the first
// of -0 and +0 stays.
template <Combine c, class T>
inline bool replaces(T x, T best) {
  if constexpr (kIsFloat<T>) {
    if (best != best) return false;
    if (x != x) return true;
  }
  return c == Combine::ArgMax ? x > best : x < best;
}

}  // namespace sheaf::scalar

// A builder (see scalar.h) that computes directly with C++ scalars. It defines the results of the expansions of
// elementary functions to the last bit; tests compare it with libm, and constant folding may call it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "scalar/scalar_ops.h"

namespace sheaf::scalar::math {

struct HostBuilder {
  enum Type : uint8_t { F32, F64, I32, I64, U32, U64, Bool };
  struct V {
    Type type;
    uint64_t raw;  // the low bits hold the value
  };

  template <class T>
  static constexpr Type type_of() {
    if constexpr (std::is_same_v<T, float>)
      return F32;
    else if constexpr (std::is_same_v<T, double>)
      return F64;
    else if constexpr (std::is_same_v<T, int32_t>)
      return I32;
    else if constexpr (std::is_same_v<T, int64_t>)
      return I64;
    else if constexpr (std::is_same_v<T, uint32_t>)
      return U32;
    else if constexpr (std::is_same_v<T, uint64_t>)
      return U64;
    else
      return Bool;
  }
  template <class T>
  static V make(T x) {
    if constexpr (std::is_same_v<T, float>)
      return {F32, std::bit_cast<uint32_t>(x)};
    else if constexpr (std::is_same_v<T, double>)
      return {F64, std::bit_cast<uint64_t>(x)};
    else
      return {type_of<T>(), uint64_t(x)};
  }
  template <class T>
  static T get(V v) {
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(uint32_t(v.raw));
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<double>(v.raw);
    else
      return T(v.raw);
  }

  static V f32(float x) { return make(x); }
  static V f64(double x) { return make(x); }
  static V i32(int32_t x) { return make(x); }
  static V i64(int64_t x) { return make(x); }
  static V u32(uint32_t x) { return make(x); }
  static V u64(uint64_t x) { return make(x); }

  V add(V a, V b) {
    return arith(a, b, [](auto x, auto y) { return x + y; });
  }
  V sub(V a, V b) {
    return arith(a, b, [](auto x, auto y) { return x - y; });
  }
  V mul(V a, V b) {
    return arith(a, b, [](auto x, auto y) { return x * y; });
  }
  V div(V a, V b) {
    return floats(a, [&](auto x) { return x / get<decltype(x)>(b); });
  }
  V fma(V a, V b, V c) {
    if (a.type == F32) return make(__builtin_fmaf(get<float>(a), get<float>(b), get<float>(c)));
    return make(__builtin_fma(get<double>(a), get<double>(b), get<double>(c)));
  }
  V neg(V a) {
    if (a.type == F32) return make(-get<float>(a));
    if (a.type == F64) return make(-get<double>(a));
    return sub(V{a.type, 0}, a);
  }
  V abs(V a) {
    return floats(a, [](auto x) { return std::fabs(x); });
  }
  V sqrt(V a) {
    return floats(a, [](auto x) { return std::sqrt(x); });
  }
  V floor(V a) {
    return floats(a, [](auto x) { return std::floor(x); });
  }
  V trunc(V a) {
    return floats(a, [](auto x) { return std::trunc(x); });
  }
  V rint(V a) {
    return floats(a, [](auto x) { return std::nearbyint(x); });
  }
  V min(V a, V b) {
    return floats(a, [&](auto x) { return min_of(x, get<decltype(x)>(b)); });
  }
  V max(V a, V b) {
    return floats(a, [&](auto x) { return max_of(x, get<decltype(x)>(b)); });
  }

  V lt(V a, V b) {
    return compare(a, b, [](auto x, auto y) { return x < y; });
  }
  V le(V a, V b) {
    return compare(a, b, [](auto x, auto y) { return x <= y; });
  }
  V gt(V a, V b) {
    return compare(a, b, [](auto x, auto y) { return x > y; });
  }
  V ge(V a, V b) {
    return compare(a, b, [](auto x, auto y) { return x >= y; });
  }
  V eq(V a, V b) {
    return compare(a, b, [](auto x, auto y) { return x == y; });
  }
  V ne(V a, V b) {
    return compare(a, b, [](auto x, auto y) { return x != y; });
  }

  V and_(V a, V b) { return {a.type, a.raw & b.raw}; }
  V or_(V a, V b) { return {a.type, a.raw | b.raw}; }
  V xor_(V a, V b) { return {a.type, a.raw ^ b.raw}; }
  V not_(V a) { return a.type == Bool ? V{Bool, a.raw ^ 1} : wrapped(a.type, ~a.raw); }
  V shl(V a, V n) { return wrapped(a.type, a.raw << (n.raw & 63)); }
  V shr(V a, V n) { return wrapped(a.type, (is_narrow(a.type) ? uint64_t(uint32_t(a.raw)) : a.raw) >> (n.raw & 63)); }
  V sar(V a, V n) {
    if (is_narrow(a.type)) return wrapped(a.type, uint64_t(int64_t(int32_t(uint32_t(a.raw))) >> (n.raw & 31)));
    return {a.type, uint64_t(int64_t(a.raw) >> (n.raw & 63))};
  }
  V select(V c, V a, V b) { return c.raw & 1 ? a : b; }
  V seldom(V c, V a, V b) { return select(c, a, b); }

  V bitcast_f32_i32(V a) { return wrapped(I32, a.raw); }
  V bitcast_i32_f32(V a) { return {F32, uint64_t(uint32_t(a.raw))}; }
  V bitcast_f64_i64(V a) { return {I64, a.raw}; }
  V bitcast_i64_f64(V a) { return {F64, a.raw}; }

  V convert(V a, Type to) {
    return visit(a, [&](auto x) -> V {
      switch (to) {
        case F32: return make(float(x));
        case F64: return make(double(x));
        case I32: return make(saturated<int32_t>(x));
        case I64: return make(saturated<int64_t>(x));
        case U32: return make(saturated<uint32_t>(x));
        case U64: return make(saturated<uint64_t>(x));
        default: return make(bool(x != 0));
      }
    });
  }

 private:
  static bool is_narrow(Type t) { return t == I32 || t == U32; }
  // A 32-bit integer is stored sign- or zero-extended, so that `get` and comparisons need no special case.
  static V wrapped(Type t, uint64_t raw) {
    if (t == I32) return {t, uint64_t(int64_t(int32_t(uint32_t(raw))))};
    if (t == U32) return {t, uint64_t(uint32_t(raw))};
    return {t, raw};
  }
  template <class To, class From>
  static To saturated(From x) {
    if constexpr (std::is_floating_point_v<From>) {
      if (x != x) return 0;
      if (x >= -From(std::numeric_limits<To>::min()) && std::is_signed_v<To>) return std::numeric_limits<To>::max();
      if (!std::is_signed_v<To> && x >= From(2) * From(To(1) << (sizeof(To) * 8 - 1)))
        return std::numeric_limits<To>::max();
      if (x <= From(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    }
    return To(x);
  }
  template <class F>
  static V visit(V a, F f) {
    switch (a.type) {
      case F32: return f(get<float>(a));
      case F64: return f(get<double>(a));
      case I32: return f(get<int32_t>(a));
      case I64: return f(get<int64_t>(a));
      case U32: return f(get<uint32_t>(a));
      case U64: return f(get<uint64_t>(a));
      default: return f(bool(a.raw));
    }
  }
  template <class F>
  static V floats(V a, F f) {
    return a.type == F32 ? make(f(get<float>(a))) : make(f(get<double>(a)));
  }
  template <class F>
  static V arith(V a, V b, F f) {
    if (a.type == F32) return make(f(get<float>(a), get<float>(b)));
    if (a.type == F64) return make(f(get<double>(a), get<double>(b)));
    return wrapped(a.type, f(a.raw, b.raw));  // unsigned arithmetic wraps without undefined behaviour
  }
  template <class F>
  static V compare(V a, V b, F f) {
    switch (a.type) {
      case F32: return make(bool(f(get<float>(a), get<float>(b))));
      case F64: return make(bool(f(get<double>(a), get<double>(b))));
      case I32:
      case I64: return make(bool(f(int64_t(a.raw), int64_t(b.raw))));
      default: return make(bool(f(a.raw, b.raw)));
    }
  }
};

}  // namespace sheaf::scalar::math

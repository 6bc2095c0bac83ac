// The loops that the steps call: one template per operand pattern, instantiated for each operation and type. IVDEP is
// valid: `out` is either exactly one of the inputs or overlaps none of them.
#pragma once
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "codegen/block/step.h"
#include "scalar/scalar_ops.h"
#include "support/ivdep.h"

namespace sheaf::codegen::block {

template <class T>
inline T* at(RunState& c, Id id) {
  return reinterpret_cast<T*>(c.address[id]);
}

// out[i] = f(a[i]…); an operand that is uniform (v… is false) is read once.
template <bool va, class Out, class A, class F>
inline void map1(const BlockStep& s, RunState& c, F f) {
  Out* out = at<Out>(c, s.out);
  const A* a = at<const A>(c, s.a);
  if constexpr (!va) {
    *out = f(*a);
  } else {
    int64_t n = c.count;
    IVDEP
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(a[i]);
  }
}
template <bool va, bool vb, class Out, class T, class F>
inline void map2(const BlockStep& s, RunState& c, F f) {
  Out* out = at<Out>(c, s.out);
  const T* a = at<const T>(c, s.a);
  const T* b = at<const T>(c, s.b);
  int64_t n = c.count;
  if constexpr (!va && !vb) {
    *out = f(*a, *b);
  } else if constexpr (va && vb) {
    IVDEP
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(a[i], b[i]);
  } else if constexpr (va) {
    T y = *b;
    IVDEP
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(a[i], y);
  } else {
    T x = *a;
    IVDEP
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(x, b[i]);
  }
}
template <bool va, bool vb, bool vc, class T, class A, class F>
inline void map3(const BlockStep& s, RunState& c, F f) {
  T* out = at<T>(c, s.out);
  const A* a = at<const A>(c, s.a);
  const T* b = at<const T>(c, s.b);
  const T* d = at<const T>(c, s.c);
  if constexpr (!va && !vb && !vc) {
    *out = f(*a, *b, *d);
  } else {
    int64_t n = c.count;
    A x = *a;
    T y = *b, z = *d;
    IVDEP
    for (int64_t i = 0; i < n; ++i)
      out[i] = f(va ? a[i] : x, vb ? b[i] : y, vc ? d[i] : z);
  }
}

template <loop::Op op>
inline constexpr bool kCommutes =
    op == loop::Op::Add || op == loop::Op::Mul || op == loop::Op::Min || op == loop::Op::Max || op == loop::Op::And ||
    op == loop::Op::Or || op == loop::Op::Xor || op == loop::Op::Eq || op == loop::Op::Ne;

#if defined(__aarch64__)
// Instructions that propagate NaN and order -0 before +0; no C++ expression compiles to them.
template <loop::Op op>
inline float32x4_t extremum(float32x4_t a, float32x4_t b) {
  return op == loop::Op::Max ? vmaxq_f32(a, b) : vminq_f32(a, b);
}
template <loop::Op op>
inline float64x2_t extremum(float64x2_t a, float64x2_t b) {
  return op == loop::Op::Max ? vmaxq_f64(a, b) : vminq_f64(a, b);
}
inline float32x4_t load_vector(const float* p) { return vld1q_f32(p); }
inline float64x2_t load_vector(const double* p) { return vld1q_f64(p); }
inline float32x4_t splat(float x) { return vdupq_n_f32(x); }
inline float64x2_t splat(double x) { return vdupq_n_f64(x); }
inline void store_vector(float* p, float32x4_t x) { vst1q_f32(p, x); }
inline void store_vector(double* p, float64x2_t x) { vst1q_f64(p, x); }

template <loop::Op op, class T, bool vb>
void extrema(const BlockStep& s, RunState& c) {
  constexpr int64_t kLanes = 16 / sizeof(T);
  T* out = at<T>(c, s.out);
  const T* a = at<const T>(c, s.a);
  const T* b = at<const T>(c, s.b);
  const T y = *b;
  const auto limit = splat(y);
  int64_t i = 0;
  for (int64_t n = c.count; i + kLanes <= n; i += kLanes)
    store_vector(out + i, extremum<op>(load_vector(a + i), vb ? load_vector(b + i) : limit));
  for (; i < c.count; ++i)
    out[i] = scalar::apply<op>(a[i], vb ? b[i] : y);
}
#endif

template <loop::Op op, class T, bool va, bool vb>
void binary(const BlockStep& s, RunState& c) {
#if defined(__aarch64__)
  if constexpr (scalar::kIsFloat<T> && va && (op == loop::Op::Min || op == loop::Op::Max))
    return extrema<op, T, vb>(s, c);
#endif
  if constexpr (op >= loop::Op::Lt && op <= loop::Op::Ne)
    map2<va, vb, bool, T>(s, c, [](T x, T y) { return scalar::compare<op>(x, y); });
  else
    map2<va, vb, T, T>(s, c, [](T x, T y) { return scalar::apply<op>(x, y); });
}
template <loop::Op op, class T, bool va>
void unary(const BlockStep& s, RunState& c) {
  map1<va, T, T>(s, c, [](T x) { return scalar::apply<op>(x); });
}
template <class T, bool va, bool vb, bool vc>
void fma(const BlockStep& s, RunState& c) {
  map3<va, vb, vc, T, T>(s, c, [](T x, T y, T z) { return scalar::apply<loop::Op::Fma>(x, y, z); });
}

// The arithmetic of one type. Commutative operations have no uniform-varying form: the compiler swaps the operands.
// `In` wraps a loop to compile it for an instruction set (tuned.h).
template <class T, template <Run> class In>
Run arithmetic_of(loop::Op wanted, Shape sa, Shape sb, Shape sc) {
  bool va = sa == Shape::Varying, vb = sb == Shape::Varying, vc = sc == Shape::Varying;
  Run found = nullptr;
  auto consider = [&]<loop::Op op>() {
    if constexpr (scalar::is_defined<T>(op)) {
      if constexpr (op == loop::Op::Fma) {
        constexpr bool kAll = scalar::kIsFloat<T>;
        if (!va && !vb && !vc) found = In<fma<T, false, false, false>>::kRun;
        if (va && vb && vc) found = In<fma<T, true, true, true>>::kRun;
        if constexpr (kAll) {
          if (va && vb && !vc) found = In<fma<T, true, true, false>>::kRun;
          if (va && !vb && vc) found = In<fma<T, true, false, true>>::kRun;
          if (!va && vb && vc) found = In<fma<T, false, true, true>>::kRun;
          if (va && !vb && !vc) found = In<fma<T, true, false, false>>::kRun;
          if (!va && vb && !vc) found = In<fma<T, false, true, false>>::kRun;
          if (!va && !vb && vc) found = In<fma<T, false, false, true>>::kRun;
        }
      } else if constexpr (scalar::num_operands(op) == 2) {
        if (!va && !vb) found = In<binary<op, T, false, false>>::kRun;
        if (va && vb) found = In<binary<op, T, true, true>>::kRun;
        if (va && !vb) found = In<binary<op, T, true, false>>::kRun;
        if constexpr (!kCommutes<op>)
          if (!va && vb) found = In<binary<op, T, false, true>>::kRun;
      } else {
        found = va ? In<unary<op, T, true>>::kRun : In<unary<op, T, false>>::kRun;
      }
    }
  };
  [&]<int... i>(std::integer_sequence<int, i...>) {
    constexpr int base = static_cast<int>(loop::Op::Add);
    ((wanted == static_cast<loop::Op>(base + i) ? consider.template operator()<static_cast<loop::Op>(base + i)>()
                                                : void()),
     ...);
  }(std::make_integer_sequence<int, static_cast<int>(loop::Op::Ne) - static_cast<int>(loop::Op::Add) + 1>{});
  return found;
}

template <class T>
struct Arithmetic {
  Run (*find)(loop::Op, Shape, Shape, Shape);
  template <template <Run> class In>
  static constexpr Arithmetic of() {
    return {arithmetic_of<T, In>};
  }
};

Run arithmetic_f32(loop::Op, Shape, Shape, Shape);
Run arithmetic_f64(loop::Op, Shape, Shape, Shape);
Run arithmetic_i32(loop::Op, Shape, Shape, Shape);
Run arithmetic_i64(loop::Op, Shape, Shape, Shape);
Run arithmetic_u32(loop::Op, Shape, Shape, Shape);
Run arithmetic_bool(loop::Op, Shape, Shape, Shape);

}  // namespace sheaf::codegen::block

// The steps of a transform, one number at a time.
#pragma once
#include <utility>
#include <vector>

#include "routines/fft/stages.h"
#include "scalar/scalar_ops.h"

namespace sheaf::routines::plain {

// What butterfly_code.h computes with.
template <class T>
struct One {
  using V = T;
  static T splat(T x) { return x; }
  static T add(T a, T b) { return a + b; }
  static T sub(T a, T b) { return a - b; }
  static T mul(T a, T b) { return a * b; }
  static T fma(T a, T b, T c) { return scalar::apply<scalar::Op::Fma>(a, b, c); }
};

#include "routines/fft/butterfly_code.h"

template <class T>
Complex<T> product(Complex<T> a, Complex<T> b) {
  const Pair<One<T>> p = times<One<T>>({a.re, a.im}, {b.re, b.im});
  return {p.re, p.im};
}

template <class T, int r>
void step(const std::vector<Complex<T>>& x, std::vector<Complex<T>>& y, const std::vector<Complex<T>>& roots,
          size_t s) {
  const size_t m = x.size() / (s * r);
  for (size_t p = 0; p < m; ++p)
    for (size_t q = 0; q < s; ++q) {
      Pair<One<T>> z[r];
      for (size_t j = 0; j < r; ++j)
        z[j] = {x[q + s * (p + m * j)].re, x[q + s * (p + m * j)].im};
      Butterfly<One<T>, T, r>::apply(z);
      for (size_t k = 0; k < r; ++k) {
        const Complex<T> value = {z[k].re, z[k].im};
        y[q + s * (r * p + k)] = m == 1 || k == 0 ? value : product(value, roots[s * p * k]);
      }
    }
}

// x transformed, of a smooth length.
template <class T>
void transform(std::vector<Complex<T>>& x) {
  const auto roots = roots_of_unity<T>(static_cast<int64_t>(x.size()));
  std::vector<Complex<T>> y(x.size());
  size_t s = 1;
  for (int r : stages_of(static_cast<int64_t>(x.size())).radices) {
    switch (r) {
      case 2: step<T, 2>(x, y, roots, s); break;
      case 3: step<T, 3>(x, y, roots, s); break;
      case 4: step<T, 4>(x, y, roots, s); break;
      case 5: step<T, 5>(x, y, roots, s); break;
      case 7: step<T, 7>(x, y, roots, s); break;
      case 8: step<T, 8>(x, y, roots, s); break;
      case 11: step<T, 11>(x, y, roots, s); break;
      default: step<T, 13>(x, y, roots, s);
    }
    std::swap(x, y);
    s *= static_cast<size_t>(r);
  }
}

}  // namespace sheaf::routines::plain

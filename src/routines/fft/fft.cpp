#include <cmath>

#include "routines/fft/args.h"
#include "routines/fft/plain.h"

namespace sheaf::routines {
namespace {

using plain::product;

template <class T>
using Row = std::vector<Complex<T>>;

template <class T>
void swap_parts(Row<T>& x) {
  for (Complex<T>& e : x)
    std::swap(e.re, e.im);
}

// x transformed, of any length. The inverse is the transform with real and imaginary parts exchanged.
template <class T>
void transform(Row<T>& x) {
  const int64_t n = static_cast<int64_t>(x.size());
  if (stages_of(n).smooth) return plain::transform(x);
  const Chirp<T> chirp = chirp_of<T>(n);
  Row<T> z(static_cast<size_t>(chirp.length), {0, 0});
  for (size_t j = 0; j < x.size(); ++j)
    z[j] = product(x[j], chirp.factors[j]);
  plain::transform(z);
  for (size_t j = 0; j < z.size(); ++j)
    z[j] = product(z[j], chirp.filter[j]);
  swap_parts(z);
  plain::transform(z);
  swap_parts(z);
  for (size_t j = 0; j < x.size(); ++j)
    x[j] = product(z[j], chirp.factors[j]);
}

template <class T>
Complex<T> conjugate(Complex<T> z) {
  return {z.re, -z.im};
}
template <class T>
Complex<T> sum(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
Complex<T> difference(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}

// Of an even number of reals: they are half as many complex numbers z, whose transform is taken apart into those of the
// reals at even and at odd places.
template <class T>
Row<T> from_reals(const std::vector<T>& x, T scale) {
  const size_t n = x.size(), half = n / 2;
  Row<T> y(half + 1);
  if (n % 2) {
    Row<T> z;
    for (T e : x)
      z.push_back({e, 0});
    transform(z);
    for (size_t k = 0; k <= half; ++k)
      y[k] = {z[k].re * scale, z[k].im * scale};
    return y;
  }
  Row<T> z(half);
  for (size_t j = 0; j < half; ++j)
    z[j] = {x[2 * j], x[2 * j + 1]};
  transform(z);
  y[0] = {(z[0].re + z[0].im) * scale, 0};
  y[half] = {(z[0].re - z[0].im) * scale, 0};
  const T c = scale * T(0.5);
  for (size_t k = 1; 2 * k <= half; ++k) {
    const Complex<T> a = z[k], b = conjugate(z[half - k]), d = difference(a, b), s = sum(a, b);
    const Complex<T> even = {c * s.re, c * s.im}, odd = {c * d.im, -(c * d.re)};
    const Complex<T> t = product(odd, root_of_unity<T>(static_cast<int64_t>(k), static_cast<int64_t>(n)));
    y[half - k] = conjugate(difference(even, t));
    y[k] = sum(even, t);
  }
  return y;
}

template <class T>
std::vector<T> to_reals(const Row<T>& x, size_t n, T scale) {
  const size_t half = n / 2;
  std::vector<T> y(n);
  if (n % 2) {
    Row<T> z(n);
    z[0] = {x[0].re, 0};
    for (size_t k = 1; k <= half; ++k)
      z[k] = x[k], z[n - k] = conjugate(x[k]);
    swap_parts(z);
    transform(z);
    for (size_t j = 0; j < n; ++j)
      y[j] = z[j].im * scale;
    return y;
  }
  Row<T> z(half);
  z[0] = {x[0].re + x[half].re, x[0].re - x[half].re};
  for (size_t k = 1; 2 * k <= half; ++k) {
    const Complex<T> a = x[k], b = conjugate(x[half - k]), s = sum(a, b);
    const Complex<T> w = conjugate(root_of_unity<T>(static_cast<int64_t>(k), static_cast<int64_t>(n)));
    const Complex<T> t = product(difference(a, b), w), u = {-t.im, t.re};
    z[half - k] = conjugate(difference(s, u));
    z[k] = sum(s, u);
  }
  swap_parts(z);
  transform(z);
  for (size_t j = 0; j < half; ++j)
    y[2 * j] = z[j].im * scale, y[2 * j + 1] = z[j].re * scale;
  return y;
}

template <class T>
void fft_in(const RoutineCall& call, const FftArgs<>& a) {
  if (a.n == 0) return;
  const size_t n = static_cast<size_t>(a.n), half = n / 2 + 1, inner = static_cast<size_t>(a.inner);
  const T scale = scale_of<T>(a.scale, a.n);
  const T* x = call.buffer<const T>(0);
  T* y = call.buffer<T>(1);
  const auto pairs = [&](const T* from, size_t count) {
    Row<T> out;
    for (size_t j = 0; j < count; ++j)
      out.push_back({from[2 * j * inner], from[2 * j * inner + 1]});
    return out;
  };
  const auto put = [&](const Row<T>& from, T* to) {
    for (size_t j = 0; j < from.size(); ++j)
      to[2 * j * inner] = from[j].re, to[2 * j * inner + 1] = from[j].im;
  };
  for (int64_t o = 0; o < a.outer; ++o)
    for (size_t i = 0; i < inner; ++i) {
      const size_t row = static_cast<size_t>(o) * inner;
      if (a.kind == FftKind::Complex) {
        Row<T> z = pairs(x + 2 * (row * n + i), n);
        if (a.inverse) swap_parts(z);
        transform(z);
        if (a.inverse) swap_parts(z);
        for (Complex<T>& e : z)
          e = {e.re * scale, e.im * scale};
        put(z, y + 2 * (row * n + i));
      } else if (a.kind == FftKind::FromReal) {
        std::vector<T> reals;
        for (size_t j = 0; j < n; ++j)
          reals.push_back(x[(row * n + i) + j * inner]);
        put(from_reals(reals, scale), y + 2 * (row * half + i));
      } else {
        const auto reals = to_reals(pairs(x + 2 * (row * half + i), half), n, scale);
        for (size_t j = 0; j < n; ++j)
          y[row * n + i + j * inner] = reals[j];
      }
    }
}

}  // namespace

template <class T>
T scale_of(FftScale scale, int64_t n) {
  const double count = static_cast<double>(n);
  return static_cast<T>(scale == FftScale::One ? 1 : scale == FftScale::Root ? 1 / std::sqrt(count) : 1 / count);
}
template float scale_of(FftScale, int64_t);
template double scale_of(FftScale, int64_t);

void fft(const RoutineCall& call, const FftArgs<>& args) {
  if (args.dtype == DType::F64)
    fft_in<double>(call, args);
  else
    fft_in<float>(call, args);
}

}  // namespace sheaf::routines

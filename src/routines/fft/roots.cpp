#include "routines/fft/roots.h"

#include <array>
#include <cmath>
#include <type_traits>

namespace sheaf::routines {
namespace {

// The unevaluated sum of two doubles, of which the second is below half a unit of the first: some 106 bits.
struct Wide {
  double hi, lo;
};

// Exact if |a| >= |b|, or a == 0.
Wide renormalized(double a, double b) {
  double sum = a + b;
  return {sum, b - (sum - a)};
}
Wide operator+(Wide a, Wide b) {
  double sum = a.hi + b.hi, part = sum - a.hi, error = (a.hi - (sum - part)) + (b.hi - part);
  return renormalized(sum, error + (a.lo + b.lo));
}
Wide operator*(Wide a, Wide b) {
  double product = a.hi * b.hi;
  return renormalized(product, std::fma(a.hi, b.hi, -product) + (a.hi * b.lo + a.lo * b.hi));
}
Wide quotient(Wide a, double b) {
  double first = a.hi / b;
  return renormalized(first, (std::fma(-first, b, a.hi) + a.lo) / b);
}

constexpr int kTerms = 25;  // of the series up to pi / 4: the first one left out is below 2^-80

// 1 / k!, negative for k = 2, 3, 6, 7, ….
const std::array<Wide, kTerms>& coefficients() {
  static const std::array<Wide, kTerms> all = [] {
    std::array<Wide, kTerms> out{Wide{1, 0}};
    for (int k = 1; k < kTerms; ++k)
      out[k] = quotient(out[k - 1], k);
    for (int k = 2; k < kTerms; k += 4)
      for (int i = k; i < std::min(k + 2, kTerms); ++i)
        out[i] = {-out[i].hi, -out[i].lo};
    return out;
  }();
  return all;
}

Wide as(Wide x, Wide*) { return x; }
double as(Wide x, double*) { return x.hi; }
double rounded(Wide x) { return x.hi; }
double rounded(double x) { return x; }

// cos and sin of 2 pi part / whole, at most 1 / 8 of a turn.
template <class Real>
Complex<double> small_angle(int64_t part, int64_t whole) {
  constexpr Wide kTurn = {0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};
  constexpr int kLast = std::is_same_v<Real, Wide> ? kTerms - 1 : 18;  // even
  const auto& c = coefficients();
  auto number = [](Wide x) { return as(x, static_cast<Real*>(nullptr)); };
  const Real x = number(kTurn * quotient({static_cast<double>(part), 0}, static_cast<double>(whole))), square = x * x;
  Real cosine = number(c[kLast]), sine = number(c[kLast - 1]);
  for (int k = kLast - 2; k >= 0; k -= 2) {
    cosine = cosine * square + number(c[k]);
    if (k > 0) sine = sine * square + number(c[k - 1]);
  }
  return {rounded(cosine), rounded(sine * x)};
}

}  // namespace

template <class T>
Complex<T> root_of_unity(int64_t k, int64_t n) {
  using Real = std::conditional_t<sizeof(T) == 8, Wide, double>;
  auto root = [](double cosine, double sine) { return Complex<T>{static_cast<T>(cosine), static_cast<T>(0 - sine)}; };
  Complex<double> a;
  switch (8 * k / n) {  // the angle and the nearest axis
    case 0: a = small_angle<Real>(k, n); return root(a.re, a.im);
    case 1: a = small_angle<Real>(n - 4 * k, 4 * n); return root(a.im, a.re);
    case 2: a = small_angle<Real>(4 * k - n, 4 * n); return root(0 - a.im, a.re);
    case 3: a = small_angle<Real>(n - 2 * k, 2 * n); return root(-a.re, a.im);
    case 4: a = small_angle<Real>(2 * k - n, 2 * n); return root(-a.re, 0 - a.im);
    case 5: a = small_angle<Real>(3 * n - 4 * k, 4 * n); return root(0 - a.im, -a.re);
    case 6: a = small_angle<Real>(4 * k - 3 * n, 4 * n); return root(a.im, -a.re);
    default: a = small_angle<Real>(n - k, n); return root(a.re, 0 - a.im);
  }
}

template <class T>
std::vector<Complex<T>> roots_of_unity(int64_t n) {
  std::vector<Complex<T>> out(static_cast<size_t>(n));
  const int64_t quarter = n % 4 == 0 ? n / 4 : n;
  for (int64_t k = 0; k < quarter; ++k)
    if (n % 4 == 0 && 8 * k > n) {  // mirrored
      const Complex<T> z = out[static_cast<size_t>(quarter - k)];
      out[static_cast<size_t>(k)] = {T(0) - z.im, T(0) - z.re};
    } else {
      out[static_cast<size_t>(k)] = root_of_unity<T>(k, n);
    }
  for (int64_t k = quarter; k < n; ++k) {  // a quarter further
    const Complex<T> z = out[static_cast<size_t>(k - quarter)];
    out[static_cast<size_t>(k)] = {z.im, T(0) - z.re};
  }
  return out;
}

template Complex<float> root_of_unity(int64_t, int64_t);
template Complex<double> root_of_unity(int64_t, int64_t);
template std::vector<Complex<float>> roots_of_unity(int64_t);
template std::vector<Complex<double>> roots_of_unity(int64_t);

}  // namespace sheaf::routines

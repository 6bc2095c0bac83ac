// The eigenvalues of a diagonal matrix plus one of rank one are the zeros of a rational function. They, and vectors z
// that belong to them exactly, are what dividing methods join halves by (tridiagonal.h, bidiagonal.h). All in double.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "routines/linalg/turns.h"

namespace sheaf::routines {

// The zeros of 1 + rho sum z_i^2 / (p_i - x), rho > 0, no z_i zero. The poles p_i are d_i, or their squares if
// `squares`; d rises strictly. A zero is a pole and the distance from it: `close` is the relative change of that which
// is left undone when a step has found it.
struct Secular {
  const double *d, *z;
  int64_t n;
  double rho;
  bool squares;
  double close;

  // Pole i less pole j.
  double apart(int64_t i, int64_t j) const { return squares ? (d[i] - d[j]) * (d[i] + d[j]) : d[i] - d[j]; }

  // Zero number k, between poles k and k + 1: the pole next to it, and its distance from that. `poles` is memory for n
  // numbers.
  template <class M>
  void zero(int64_t k, double* poles, int64_t& origin, double& x) const {
    const bool last = k == n - 1;
    if (n == 1) return void((origin = 0, x = rho * z[0] * z[0]));
    auto measure_from = [&](int64_t pole) {
      origin = pole;
      for (int64_t i = 0; i < n; ++i)
        poles[i] = apart(i, pole);
    };
    measure_from(k);
    const int64_t split = last ? n - 2 : k;
    // The sums over poles up to `split` and over the others.
    auto at = [&](double to) {
      return Value{M::pole_sums(z, poles, split + 1, to),
                   M::pole_sums(z + split + 1, poles + split + 1, n - split - 1, to)};
    };
    double low = 0, high = 0;
    x = 0;
    if (last) {
      for (int64_t i = 0; i < n; ++i)
        high += rho * z[i] * z[i];
    } else {
      // The sign in the middle tells which pole is the nearer one. The first guess is the zero of the function that has
      // the terms of the two poles and, in place of the others, their sum there.
      const double gap = poles[k + 1], left = rho * z[k] * z[k], right = rho * z[k + 1] * z[k + 1];
      const Value v = at(gap / 2);
      const double f = 1 + rho * (v.below.value + v.above.value), rest = f + (left - right) / (gap / 2);
      if (f < 0) {
        measure_from(k + 1);
        low = -gap / 2;
        const double b = rest * gap - left - right, root = std::sqrt(std::max(0.0, b * b + 4 * right * gap * rest));
        x = b < 0 ? 2 * right * gap / (b - root) : -(b + root) / (2 * rest);
      } else {
        high = gap / 2;
        const double b = rest * gap + left + right, root = std::sqrt(std::max(0.0, b * b - 4 * left * gap * rest));
        x = b > 0 ? 2 * left * gap / (b + root) : (b - root) / (2 * rest);
      }
    }
    if (!(x > low && x < high)) x = (low + high) / 2;
    for (int round = 0; round < 100; ++round) {
      const Value v = at(x);
      const double f = 1 + rho * (v.below.value + v.above.value);
      const double size = 1 + rho * (std::fabs(v.below.value) + std::fabs(v.above.value));
      if (std::fabs(f) <= kEps * size) break;
      (f < 0 ? low : high) = x;
      const double before = x;
      x = step(v, f, poles[split], poles[split + 1], x);
      if (!(x > low && x < high)) {
        x = (low + high) / 2;
        if (std::fabs(high - low) <= 0.5 * kEps * std::min(std::fabs(low), std::fabs(high))) break;
      } else if (std::fabs(x - before) <= close * std::fabs(x)) {
        break;
      }
    }
  }

 private:
  struct Value {
    PoleSums below, above;
  };

  // The zero of c + p / (left - x) + q / (right - x) that has the value and the slopes of both sums at x (R.-C. Li,
  // LAPACK Working Note 89, the middle way).
  double step(const Value& v, double f, double left, double right, double x) const {
    const double a = left - x, b = right - x, lower = rho * v.below.slope, upper = rho * v.above.slope;
    // With y the step: c + a^2 lower / (a - y) + b^2 upper / (b - y) = 0.
    const double c = f - a * lower - b * upper;
    const double p = a * b * f, s = (a + b) * f - a * b * (lower + upper);
    // c y^2 - s y + p = 0, the root that is nearer to 0 between the poles.
    const double root = std::sqrt(std::max(0.0, s * s - 4 * c * p));
    double y = s > 0 ? 2 * p / (s + root) : c == 0 ? p / s : (s - root) / (2 * c);
    // Newton's step where the sign is wrong.
    if (!(f * y < 0)) y = -f / (lower + upper);
    return x + y;
  }
};

// Zero j is `distance` j from pole origin[j]. They are exactly the zeros of the function with this z, which is near the
// given one: then vectors are orthogonal however near to each other the zeros are (Gu and Eisenstat).
struct Zeros {
  std::vector<int64_t> origin;
  std::vector<double> distance, z;
  // Pole i less zero j.
  double pole_less_zero(const Secular& f, int64_t i, int64_t j) const { return f.apart(i, origin[j]) - distance[j]; }
};
template <class M>
Zeros find_zeros(const Secular& f) {
  const int64_t n = f.n, grain = 1 + (1 << 11) / (n + 1);
  const auto size = static_cast<size_t>(n);
  Zeros zeros{std::vector<int64_t>(size), std::vector<double>(size), std::vector<double>(size)};
  M::for_ranges(n, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> poles(size);
    for (int64_t j = begin; j < end; ++j)
      f.zero<M>(j, poles.data(), zeros.origin[j], zeros.distance[j]);
  });
  std::vector<double> near(size);
  for (int64_t j = 0; j < n; ++j)
    near[j] = f.d[zeros.origin[j]];
  M::for_ranges(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double here = f.d[i];
      // Zero j less pole i by pole `other` less pole i, all of which are in (0, 1] together.
      auto ratio = [&](int64_t j, int64_t other) {
        const double sum = f.squares ? near[j] + here : 1, sum_other = f.squares ? f.d[other] + here : 1;
        return ((near[j] - here) * sum + zeros.distance[j]) / ((f.d[other] - here) * sum_other);
      };
      constexpr int kProducts = 4;  // interleaved: a single product would wait for the latency of each multiplication
      double products[kProducts] = {1, 1, 1, 1};
      for (int64_t j = 0; j < n - 1; ++j)
        products[j % kProducts] *= ratio(j, j < i ? j : j + 1);
      const double product =
          ((products[0] * products[1]) * (products[2] * products[3])) * -zeros.pole_less_zero(f, i, n - 1);
      zeros.z[i] = std::copysign(std::sqrt(std::fabs(product)), f.z[i]);
    }
  });
  return zeros;
}

}  // namespace sheaf::routines

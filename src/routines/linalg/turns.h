// The implicit QL steps that make a small tridiagonal matrix diagonal, and rotate the rows of its vectors.
// Golub and Van Loan, Matrix Computations, 8.3.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "routines/linalg/matrix.h"
#include "routines/linalg/steps.h"

namespace sheaf::routines {

inline constexpr double kEps = std::numeric_limits<double>::epsilon();
inline constexpr int kMostTurns = 60;  // for one value; three are usual

// The length of (a, b), also where the squares would underflow.
inline double length(double a, double b) {
  a = std::fabs(a), b = std::fabs(b);
  double large = std::max(a, b), ratio = large > 0 ? std::min(a, b) / large : 0;
  return large * std::sqrt(1 + ratio * ratio);
}

// Its diagonal, its off-diagonal (with room for one more), and the vectors of the result as rows.
struct Tridiagonal {
  std::vector<double> diagonal, off_diagonal;
  Matrix vectors;
};

// Leaves the eigenvalues in the diagonal and the vectors in the rows, in no order. False: no convergence.
template <class M>
bool diagonalise(Tridiagonal& t) {
  auto& d = t.diagonal;
  auto& e = t.off_diagonal;
  auto n = static_cast<int64_t>(d.size());
  std::vector<Turn> turns;
  for (int64_t at = 0; at < n; ++at)
    for (int round = 0;; ++round) {
      int64_t end = at;  // the block that begins at `at` ends where an off-diagonal element is negligible
      while (end < n - 1 && std::fabs(e[end]) > kEps * (std::fabs(d[end]) + std::fabs(d[end + 1])))
        ++end;
      if (end == at) break;
      if (round == kMostTurns) return false;
      // Wilkinson's shift, from the first two rows; then a step of QL from the end of the block, which chases the bulge
      // up.
      double half = (d[at + 1] - d[at]) / (2 * e[at]), root = length(half, 1);
      double g = d[end] - d[at] + e[at] / (half + (half < 0 ? -root : root));
      double s = 1, c = 1, p = 0;
      turns.clear();
      int64_t i = end - 1;
      for (; i >= at; --i) {
        double f = s * e[i], b = c * e[i], r = length(f, g);
        e[i + 1] = r;
        if (r == 0) break;  // the block falls apart here
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        double q = (d[i] - g) * s + 2 * c * b;
        p = s * q;
        d[i + 1] = g + p;
        g = c * q - b;
        turns.push_back({c, s});
      }
      M::turn_rows(t.vectors.row(end), -t.vectors.stride, n, turns.data(), static_cast<int64_t>(turns.size()));
      if (i >= at) {
        d[i + 1] -= p;
      } else {
        d[at] -= p;
        e[at] = g;
      }
      e[end] = 0;
    }
  return true;
}

// Leaves the eigenvalues of the matrix with this diagonal and the n - 1 numbers next to it in `d`, rising, by QL steps
// on the squares of those, without roots (Pal, Walker and Kahan; Parlett, The Symmetric Eigenvalue Problem, 8.15).
// False: no convergence.
inline bool tridiagonal_values(std::vector<double>& d, std::vector<double> e) {
  const auto n = static_cast<int64_t>(d.size());
  for (double& x : e)
    x *= x;
  auto negligible = [&](int64_t i) {
    const double x = kEps * (std::fabs(d[i]) + std::fabs(d[i + 1]));
    return e[i] <= x * x;
  };
  for (int64_t at = 0; at < n; ++at)
    for (int round = 0;; ++round) {
      int64_t end = at;
      while (end < n - 1 && !negligible(end))
        ++end;
      if (end == at) break;
      if (round == kMostTurns) return false;
      // Wilkinson's shift, as above.
      const double next = std::sqrt(e[at]), half = (d[at + 1] - d[at]) / (2 * next), root = length(half, 1);
      const double shift = d[at] - next / (half + (half < 0 ? -root : root));
      double c = 1, s = 0, gamma = d[end] - shift, p = gamma * gamma;
      for (int64_t i = end - 1; i >= at; --i) {
        const double square = e[i], r = p + square, before = c, over = r / p, last = gamma;
        if (i < end - 1) e[i + 1] = s * r;
        c = p / r;
        s = square / r;
        gamma = c * (d[i] - shift) - s * last;
        d[i + 1] = last + (d[i] - gamma);
        p = c != 0 ? gamma * gamma * over : before * square;
      }
      e[at] = s * p;
      d[at] = shift + gamma;
    }
  std::sort(d.begin(), d.end());
  return true;
}

inline std::vector<int64_t> order_of(const std::vector<double>& keys) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return keys[i] < keys[j]; });
  return order;
}

}  // namespace sheaf::routines

// Implicit QR steps that make a small bidiagonal matrix diagonal. Golub and Van Loan, Matrix Computations, 8.6.
#pragma once
#include <cmath>
#include <vector>

#include "routines/linalg/turns.h"

namespace sheaf::routines {

// Its diagonal, above[i] over diagonal[i], and the vectors of both sides as rows.
struct BidiagonalRows {
  std::vector<double> diagonal, above;
  Matrix u, v;
};

// Where the block that ends at `end` begins; a negligible diagonal element just before it, with something next to it,
// is cleared.
inline int64_t start_of_block(BidiagonalRows& b, int64_t end, double tiny) {
  auto& d = b.diagonal;
  auto& e = b.above;
  int64_t at = end;
  for (; at > 0 && std::fabs(e[at]) > tiny; --at)
    if (std::fabs(d[at - 1]) <= tiny) {
      // Row at - 1 is e[at] alone, which turns against the rows below move to the right until nothing is left of it.
      double f = e[at];
      e[at] = 0;
      for (int64_t i = at; i <= end && std::fabs(f) > tiny; ++i) {
        double r = length(f, d[i]), c = d[i] / r, s = -f / r;
        d[i] = r;
        double *low = b.u.row(at - 1), *high = b.u.row(i);
        for (int64_t j = 0; j < b.u.columns; ++j) {
          double y = low[j], z = high[j];
          low[j] = c * y + s * z;
          high[j] = c * z - s * y;
        }
        if (i == end) break;
        f = s * e[i + 1];
        e[i + 1] *= c;
      }
      break;
    }
  return at;
}

// The Givens rotation (c, s) that maps (a, b) to (r, 0); returns r. Squares that underflow belong to elements that are
// negligible compared with the norm.
inline double turn_to(double a, double b, double& c, double& s) {
  const double r = std::sqrt(a * a + b * b), over = 1 / r;
  c = r > 0 ? a * over : 1;
  s = r > 0 ? b * over : 0;
  return r;
}

// Leaves the singular values in the diagonal, with signs, and the vectors in the rows, in no order. False: no
// convergence.
template <class M>
bool diagonalise(BidiagonalRows& b) {
  auto& d = b.diagonal;
  auto& e = b.above;
  double norm = 0;
  for (size_t i = 0; i < d.size(); ++i)
    norm = std::max(norm, std::fabs(d[i]) + std::fabs(e[i]));
  double tiny = kEps * norm;
  std::vector<Turn> left, right;
  for (auto end = static_cast<int64_t>(d.size()); end-- > 0;)
    for (int round = 0;; ++round) {
      int64_t at = start_of_block(b, end, tiny);
      if (at == end) break;
      if (round == kMostTurns) return false;
      // The shift is the eigenvalue of the last two rows of b^T b that is nearer to the last one; then a step of QR.
      double x = d[at], y = d[end - 1], z = d[end], g = end - 1 > at ? e[end - 1] : 0, h = e[end];
      double f = ((y - z) * (y + z) + (g - h) * (g + h)) / (2 * h * y), root = length(f, 1);
      f = ((x - z) * (x + z) + h * (y / (f + (f < 0 ? -root : root)) - h)) / x;
      double c = 1, s = 1;
      left.clear();
      right.clear();
      for (int64_t j = at; j < end; ++j) {
        g = e[j + 1];
        y = d[j + 1];
        h = s * g;
        g = c * g;
        if (const double r = turn_to(f, h, c, s); j > at) e[j] = r;
        right.push_back({c, s});
        f = x * c + g * s;
        g = g * c - x * s;
        h = y * s;
        y = y * c;
        d[j] = turn_to(f, h, c, s);
        left.push_back({c, s});
        f = c * g + s * y;
        x = c * y - s * g;
      }
      const auto count = static_cast<int64_t>(left.size());
      M::turn_rows(b.v.row(at), b.v.stride, b.v.columns, right.data(), count);
      M::turn_rows(b.u.row(at), b.u.stride, b.u.columns, left.data(), count);
      e[end] = f;
      d[end] = x;
    }
  return true;
}

}  // namespace sheaf::routines

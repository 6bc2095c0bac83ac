// Eigenvalues and vectors of symmetric tridiagonal matrices by dividing them (Cuppen; Gu and Eisenstat 1995): the two
// halves are solved, and then the sum of their diagonal form and a matrix of rank one. Values are doubles, vectors are
// of the type of the matrix, whose precision decides what is negligible.
#pragma once
#include <limits>

#include "routines/linalg/divided.h"

namespace sheaf::routines {

template <class M, class T>
class TridiagonalEigen {
 public:
  // Of the matrix with diagonal d and the n - 1 numbers e next to it.
  TridiagonalEigen(std::vector<double> d, std::vector<double> e)
      : n_(static_cast<int64_t>(d.size())), d_(std::move(d)), e_(std::move(e)), squares_(n_, 4) {
    if (n_ > 0) solve(0, n_);
  }
  const std::vector<double>& values() const { return d_; }  // rising; NaN: not found, which has not been seen
  Block<T> vectors() const { return squares_[0]; }          // as rows

 private:
  static constexpr int64_t kSmallest = 32;

  // Rows [first, first + n).
  void solve(int64_t first, int64_t n) {
    if (n <= kSmallest) return solve_small(first, n);
    const int64_t h = n / 2, mid = first + h;
    const double rho = std::fabs(e_[mid - 1]), sign = e_[mid - 1] < 0 ? -1 : 1;
    d_[mid - 1] -= rho, d_[mid] -= rho;
    M::for_ranges(2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        i == 0 ? solve(first, h) : solve(mid, n - h);
    });
    join(first, h, n, rho, sign);
  }

  void solve_small(int64_t first, int64_t n) {
    Tridiagonal t{
        {d_.begin() + first, d_.begin() + first + n}, {e_.begin() + first, e_.begin() + first + n - 1}, Matrix(n, n)};
    t.off_diagonal.push_back(0);
    for (int64_t i = 0; i < n; ++i)
      t.vectors.row(i)[i] = 1;
    if (!diagonalise<M>(t)) std::fill(t.diagonal.begin(), t.diagonal.end(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<int64_t> order = order_of(t.diagonal);
    const Block<T> q = squares_[0].from(first);
    for (int64_t i = 0; i < n; ++i) {
      d_[first + i] = t.diagonal[order[i]];
      for (int64_t j = 0; j < n; ++j)
        q.row(i)[j] = static_cast<T>(t.vectors.row(order[i])[j]);
    }
  }

  // The solutions of two halves, the first of h rows, become that of theirs plus rho v v^T, where v is 1 in the last
  // place of the first half and `sign` in the first of the second.
  void join(int64_t first, int64_t h, int64_t n, double rho, double sign) {
    const Side<T> side = Side<T>{squares_[0], squares_[1], squares_[2], squares_[3], 0, 0}.from(first, h, n);
    double* d = d_.data() + first;
    std::vector<double> z(static_cast<size_t>(n));
    std::vector<Kind> kinds(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      z[i] = i < h ? double(side.q.row(i)[h - 1]) : sign * double(side.q.row(i)[h]);
      kinds[i] = i < h ? Kind::First : Kind::Second;
    }
    std::vector<int64_t> kept, aside;
    deflate(side, d, z, rho, kinds, kept, aside);
    const int64_t k = static_cast<int64_t>(kept.size());
    const Places places(kept, kinds);
    std::vector<double> poles, parts, solved(static_cast<size_t>(k));
    for (int64_t i : kept)
      poles.push_back(d[i]), parts.push_back(z[i]);
    const Secular f{poles.data(), parts.data(), k, rho, false, kCloseZero<T>};
    const Zeros zeros = find_zeros<M>(f);
    const Factors factors(f, zeros, places);
    M::for_ranges(k, 1 + (1 << 12) / (k + 1), [&](int64_t begin, int64_t end) {
      std::vector<double> row(static_cast<size_t>(k));
      for (int64_t j = begin; j < end; ++j) {
        solved[j] = poles[zeros.origin[j]] + zeros.distance[j];
        factors.quotients(j, row);
        Factors::write(row, side.parts.row(j));
      }
    });
    const std::vector<int64_t> order = order_of_join(solved, aside, d);
    join_vectors<M>(side, kept, kinds, places, order);
    std::vector<double> values;
    for (int64_t i : order)
      values.push_back(i < 0 ? d[-1 - i] : solved[i]);
    std::copy(values.begin(), values.end(), d);
  }

  // Values whose vectors are right already are put aside: those with no part in v, and of two that are nearly equal
  // one, when their vectors have been turned so that it has none.
  static void deflate(const Side<T>& side, double* d, std::vector<double>& z, double rho, std::vector<Kind>& kinds,
                      std::vector<int64_t>& kept, std::vector<int64_t>& aside) {
    double largest = 0;
    for (size_t i = 0; i < z.size(); ++i)
      largest = std::max({largest, std::fabs(d[i]), std::fabs(z[i])});
    const double tiny = 4 * double(std::numeric_limits<T>::epsilon()) * largest;
    int64_t before = -1;
    for (int64_t i : order_of({d, d + z.size()})) {
      if (rho * std::fabs(z[i]) <= tiny) {
        aside.push_back(i);
        continue;
      }
      if (before >= 0) {
        const double r = std::sqrt(z[i] * z[i] + z[before] * z[before]), c = z[i] / r, s = -z[before] / r;
        if (std::fabs((d[i] - d[before]) * c * s) <= tiny) {
          if (kinds[before] != kinds[i]) {
            side.complete(before, kinds[before]), side.complete(i, kinds[i]);
            kinds[before] = kinds[i] = Kind::Both;
          }
          side.turn(before, i, c, s);
          const double t = d[before] * c * c + d[i] * s * s;
          d[i] = d[before] * s * s + d[i] * c * c;
          d[before] = t;
          z[i] = r;
          aside.push_back(before);
          kept.pop_back();
        }
      }
      kept.push_back(before = i);
    }
  }

  int64_t n_;
  std::vector<double> d_, e_;
  Squares<T> squares_;
};

}  // namespace sheaf::routines

// Singular values and vectors of bidiagonal matrices by dividing them (Gu and Eisenstat, A divide-and-conquer algorithm
// for the bidiagonal SVD, 1995): without one of its rows a matrix is two, and with their solutions that row is all that
// is next to a diagonal. Values are doubles, vectors are of the type of the matrix, whose precision, for the matrix as
// a whole, decides what is negligible.
#pragma once
#include <functional>
#include <limits>

#include "routines/linalg/divided.h"
#include "routines/linalg/small_svd.h"

namespace sheaf::routines {

template <class M, class T>
class BidiagonalSvd {
 public:
  // Of the upper bidiagonal matrix with n numbers on and n - 1 above the diagonal.
  BidiagonalSvd(std::vector<double> diagonal, std::vector<double> above)
      : n_(static_cast<int64_t>(diagonal.size())),
        d_(std::move(diagonal)),
        above_(std::move(above)),
        left_(n_, 4),
        right_(n_, 4) {
    double largest = 0;
    for (double x : d_)
      largest = std::max(largest, std::fabs(x));
    for (double x : above_)
      largest = std::max(largest, std::fabs(x));
    tiny_ = 8 * double(std::numeric_limits<T>::epsilon()) * largest;
    largest > 0 ? solve(0, n_, n_) : solve_zero();
  }
  const std::vector<double>& values() const { return d_; }  // rising; NaN: not found, which has not been seen
  Block<T> left() const { return left_[0]; }                // vectors, as rows
  Block<T> right() const { return right_[0]; }

 private:
  static constexpr int64_t kSmallest = 24;

  // Rows [first, first + n) and `columns` columns from `first` on, n or n + 1. Then the last vector of the right side
  // is the one that the rows take to zero.
  void solve(int64_t first, int64_t n, int64_t columns) {
    if (n <= kSmallest) return solve_small(first, n, columns);
    const int64_t h = n / 2, mid = first + h;
    M::for_ranges(2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        i == 0 ? solve(first, h, h + 1) : solve(mid + 1, n - h - 1, columns - h - 1);
    });
    join(first, h, n, columns);
  }

  void solve_zero() {
    for (const Squares<T>* side : {&left_, &right_})
      for (int64_t i = 0; i < n_; ++i) {
        std::fill_n((*side)[0].row(i), n_, T(0));
        (*side)[0].row(i)[i] = 1;
      }
  }

  void solve_small(int64_t first, int64_t n, int64_t columns) {
    BidiagonalRows b{{d_.begin() + first, d_.begin() + first + n},
                     std::vector<double>(static_cast<size_t>(n)),
                     Matrix(n, n),
                     Matrix(columns, columns)};
    for (int64_t i = 0; i < columns; ++i) {
      if (i < n) b.u.row(i)[i] = 1;
      b.v.row(i)[i] = 1;
      if (i > 0 && i < n) b.above[i] = above_[first + i - 1];
    }
    if (columns > n) clear_last_column(b, above_[first + n - 1]);
    if (!diagonalise<M>(b)) std::fill(b.diagonal.begin(), b.diagonal.end(), std::numeric_limits<double>::quiet_NaN());
    std::vector<double> values(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
      values[i] = std::fabs(b.diagonal[i]);
    std::vector<int64_t> order = order_of(values);
    if (columns > n) order.push_back(n);
    const Block<T> u = left_[0].from(first), v = right_[0].from(first);
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t at = order[i];
      const double sign = at < n && std::signbit(b.diagonal[at]) ? -1 : 1;
      for (int64_t j = 0; j < columns; ++j)
        v.row(i)[j] = static_cast<T>(sign * b.v.row(at)[j]);
      for (int64_t j = 0; j < n && i < n; ++j)
        u.row(i)[j] = static_cast<T>(b.u.row(at)[j]);
      if (i < n) d_[first + i] = values[at];
    }
  }

  // One more column has `last` in the last row: columns turn against it from the last one to the first, and what is
  // next to the diagonal moves up until nothing is left of it.
  static void clear_last_column(BidiagonalRows& b, double last) {
    const auto n = static_cast<int64_t>(b.diagonal.size());
    for (int64_t i = n - 1; i >= 0 && last != 0; --i) {
      const double r = length(b.diagonal[i], last), c = b.diagonal[i] / r, s = last / r;
      b.diagonal[i] = r;
      double *x = b.v.row(i), *y = b.v.row(n);
      for (int64_t j = 0; j <= n; ++j) {
        const double t = c * x[j] + s * y[j];
        y[j] = c * y[j] - s * x[j];
        x[j] = t;
      }
      last = -s * b.above[i];
      b.above[i] *= c;
    }
  }

  // Row h between the two solutions. In terms of their vectors it is z, and the others are their values on a diagonal,
  // which has 0 in the column of the vector that is zero to the first half.
  void join(int64_t first, int64_t h, int64_t n, int64_t columns) {
    auto side_of = [&](const Squares<T>& s, int64_t split, int64_t count) {
      return Side<T>{s[0], s[1], s[2], s[3], 0, 0}.from(first, split, count);
    };
    const Side<T> left = side_of(left_, h, n), right = side_of(right_, h + 1, columns);
    double* d = d_.data() + first;
    const double alpha = d[h], beta = above_[first + h];
    std::vector<double> z(static_cast<size_t>(n));
    std::vector<Kind> kinds(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      z[i] = i <= h ? alpha * double(right.q.row(i)[h]) : beta * double(right.q.row(i)[h + 1]);
      kinds[i] = i < h ? Kind::First : Kind::Second;
    }
    d[h] = 0, kinds[h] = Kind::Both;
    std::fill_n(left.q.row(h), n, T(0));
    for (int64_t i = h; i < n; ++i)
      left.q.row(i)[h] = i == h ? T(1) : T(0);
    right.complete(h, Kind::First);
    if (columns > n) {
      // Of the two vectors that are zero to their halves, one that is zero to row h too.
      right.complete(n, Kind::Second);
      const double other = beta * double(right.q.row(n)[h + 1]), r = length(z[h], other);
      if (r > 0) right.turn(h, n, z[h] / r, other / r);
      z[h] = r;
    }
    if (std::fabs(z[h]) <= tiny_) z[h] = tiny_;
    std::vector<int64_t> kept{h}, aside;
    deflate(left, right, d, z, kinds, h, kept, aside);
    const int64_t k = static_cast<int64_t>(kept.size());
    const Places places(kept, kinds);
    std::vector<double> poles, parts, solved(static_cast<size_t>(k));
    for (int64_t i : kept)
      poles.push_back(d[i]), parts.push_back(z[i]);
    if (k > 1) poles[1] = std::max(poles[1], tiny_ / 2);
    const Secular f{poles.data(), parts.data(), k, 1, true, kCloseZero<T>};
    const Zeros zeros = find_zeros<M>(f);
    const Factors factors(f, zeros, places);
    const auto zero_at = std::find(places.at.begin(), places.at.end(), 0) - places.at.begin();
    M::for_ranges(k, 1 + (1 << 11) / (k + 1), [&](int64_t begin, int64_t end) {
      std::vector<double> row(static_cast<size_t>(k));
      for (int64_t j = begin; j < end; ++j) {
        const double pole = poles[zeros.origin[j]];
        solved[j] = std::sqrt(pole * pole + zeros.distance[j]);
        factors.quotients(j, row);
        Factors::write(row, right.parts.row(j));
        for (int64_t i = 0; i < k; ++i)
          row[i] *= factors.poles()[i];
        row[zero_at] = -1;  // of row h itself
        Factors::write(row, left.parts.row(j));
      }
    });
    const std::vector<int64_t> order = order_of_join(solved, aside, d);
    join_vectors<M>(left, kept, kinds, places, order);
    join_vectors<M>(right, kept, kinds, places, order);
    std::vector<double> values;
    for (int64_t i : order)
      values.push_back(i < 0 ? d[-1 - i] : solved[i]);
    std::copy(values.begin(), values.end(), d);
  }

  // As TridiagonalEigen: but for row h, which stays the first.
  void deflate(const Side<T>& left, const Side<T>& right, const double* d, std::vector<double>& z,
               std::vector<Kind>& kinds, int64_t h, std::vector<int64_t>& kept, std::vector<int64_t>& aside) const {
    int64_t before = -1;
    for (int64_t i : order_of({d, d + z.size()})) {
      if (i == h) continue;
      if (std::fabs(z[i]) <= tiny_) {
        aside.push_back(i);
        continue;
      }
      if (before >= 0 && d[i] - d[before] <= tiny_) {
        const double r = length(z[i], z[before]), c = z[i] / r, s = -z[before] / r;
        for (const Side<T>* side : {&left, &right}) {
          if (kinds[before] != kinds[i]) side->complete(before, kinds[before]), side->complete(i, kinds[i]);
          side->turn(before, i, c, s);
        }
        if (kinds[before] != kinds[i]) kinds[before] = kinds[i] = Kind::Both;
        z[i] = r;
        aside.push_back(before);
        kept.pop_back();
      }
      kept.push_back(before = i);
    }
  }

  int64_t n_;
  std::vector<double> d_, above_;
  Squares<T> left_, right_;
  double tiny_;
};

}  // namespace sheaf::routines

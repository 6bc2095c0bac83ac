// Eigenvalues and vectors of symmetric tridiagonal matrices by dividing them (Cuppen; Gu and Eisenstat 1995): the two
// halves are solved, and then the sum of their diagonal form and a matrix of rank one, whose eigenvalues are the zeros
// of a rational function. All in double.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "routines/linalg/steps.h"
#include "routines/linalg/turns.h"

namespace sheaf::routines {

// The zeros of 1 + rho sum z_i^2 / (d_i - x), rho > 0, d rising strictly, no z_i zero.
struct Secular {
  const double *d, *z;
  int64_t n;
  double rho;

  struct Value {
    double below, above, slope_below, slope_above;  // sums over i <= split and over the others, and their derivatives
  };
  // At d[origin] + x.
  Value at(int64_t origin, double x, int64_t split) const {
    Value v{};
    sums(0, split + 1, origin, x, v.below, v.slope_below);
    sums(split + 1, n, origin, x, v.above, v.slope_above);
    return v;
  }

  // Zero number k, between d[k] and d[k + 1]: the pole next to it, and its distance from that.
  void zero(int64_t k, int64_t& origin, double& x) const {
    const bool last = k == n - 1;
    if (n == 1) return void((origin = 0, x = rho * z[0] * z[0]));
    double length = 0;
    for (int64_t i = 0; i < n; ++i)
      length += z[i] * z[i];
    const double gap = last ? rho * length : d[k + 1] - d[k];
    // The sign in the middle tells which pole is the nearer one.
    const int64_t split = last ? n - 2 : k;
    origin = k;
    double low = 0, high = gap;
    if (!last) {
      const Value v = at(k, gap / 2, split);
      if (1 + rho * (v.below + v.above) < 0)
        origin = k + 1, low = -gap / 2, high = 0;
      else
        high = gap / 2;
    }
    x = (low + high) / 2;
    for (int round = 0; round < 100; ++round) {
      const Value v = at(origin, x, split);
      const double f = 1 + rho * (v.below + v.above);
      const double size = 1 + rho * (std::fabs(v.below) + std::fabs(v.above));
      if (std::fabs(f) <= 2 * kEps * double(n) * size && round > 0) break;
      (f < 0 ? low : high) = x;
      double next = step(v, f, k, last, origin, x);
      if (!(next > low && next < high)) next = (low + high) / 2;
      if (next == x || std::fabs(high - low) <= 0.5 * kEps * std::min(std::fabs(low), std::fabs(high))) break;
      x = next;
    }
  }

 private:
  void sums(int64_t begin, int64_t end, int64_t origin, double x, double& value, double& slope) const {
    constexpr int kLanes = 8;
    double values[kLanes] = {}, slopes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) {
        const double t = z[i + lane] / ((d[i + lane] - d[origin]) - x);
        values[lane] += z[i + lane] * t;
        slopes[lane] += t * t;
      }
    for (int lane = 0; i < end; ++i, ++lane) {
      const double t = z[i] / ((d[i] - d[origin]) - x);
      values[lane] += z[i] * t;
      slopes[lane] += t * t;
    }
    for (int h = kLanes / 2; h > 0; h /= 2)
      for (int lane = 0; lane < h; ++lane)
        values[lane] += values[lane + h], slopes[lane] += slopes[lane + h];
    value = values[0], slope = slopes[0];
  }

  // The zero of c + p / (d_k - x) + q / (d_k+1 - x) that has the value and the slopes of both sums at x (R.-C. Li,
  // LAPACK Working Note 89, the middle way).
  double step(const Value& v, double f, int64_t k, bool last, int64_t origin, double x) const {
    const int64_t left = last ? n - 2 : k, right = left + 1;
    const double a = (d[left] - d[origin]) - x, b = (d[right] - d[origin]) - x;
    const double lower = rho * v.slope_below, upper = rho * v.slope_above;
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

// Solved: eigenvalues rising, and the vectors as rows.
struct Eigen {
  std::vector<double> values;
  Matrix vectors;
};

// Of a small matrix. False, which has not been seen, is NaN.
inline Eigen small_eigen(const double* d, const double* e, int64_t n) {
  Tridiagonal t{{d, d + n}, {e, e + std::max<int64_t>(n - 1, 0)}, Matrix(n, n)};
  t.off_diagonal.push_back(0);
  for (int64_t i = 0; i < n; ++i)
    t.vectors.row(i)[i] = 1;
  if (!diagonalise(t)) std::fill(t.diagonal.begin(), t.diagonal.end(), std::numeric_limits<double>::quiet_NaN());
  const std::vector<int64_t> order = order_of(t.diagonal);
  Eigen out{std::vector<double>(static_cast<size_t>(n)), Matrix(n, n)};
  for (int64_t i = 0; i < n; ++i) {
    out.values[i] = t.diagonal[order[i]];
    std::copy_n(t.vectors.row(order[i]), n, out.vectors.row(i));
  }
  return out;
}

// Joins the solutions of two halves of a matrix: theirs plus rho v v^T, where v is 1 in the last place of the first
// half and `sign` in the first of the second.
template <class M>
class Join {
 public:
  Join(const Eigen& a, const Eigen& b, double rho, double sign)
      : n1_(a.vectors.rows),
        n_(n1_ + b.vectors.rows),
        rho_(rho),
        d_(a.values),
        z_(static_cast<size_t>(n_)),
        q_(n_, n_),
        kind_(static_cast<size_t>(n_)) {
    d_.insert(d_.end(), b.values.begin(), b.values.end());
    for (int64_t i = 0; i < n1_; ++i) {
      std::copy_n(a.vectors.row(i), n1_, q_.row(i));
      z_[i] = a.vectors.row(i)[n1_ - 1], kind_[i] = Kind::First;
    }
    for (int64_t i = n1_; i < n_; ++i) {
      std::copy_n(b.vectors.row(i - n1_), n_ - n1_, q_.row(i) + n1_);
      z_[i] = sign * b.vectors.row(i - n1_)[0], kind_[i] = Kind::Second;
    }
  }

  // All values, and the vectors of the largest `wanted`.
  Eigen run(int64_t wanted) {
    deflate();
    solve();
    return vectors(wanted);
  }

 private:
  // Where a vector has elements other than zero.
  enum class Kind : uint8_t { First, Both, Second };

  // Values whose vectors are right already are put aside: those with no part in v, and of two that are nearly equal
  // one, when their vectors have been turned so that it has none.
  void deflate() {
    std::vector<int64_t> order(static_cast<size_t>(n_));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d_[i] < d_[j]; });
    double largest = 0;
    for (int64_t i = 0; i < n_; ++i)
      largest = std::max({largest, std::fabs(d_[i]), std::fabs(z_[i])});
    const double tiny = 4 * kEps * largest;
    int64_t before = -1;
    for (int64_t i : order) {
      if (rho_ * std::fabs(z_[i]) <= tiny) {
        aside_.push_back(i);
        continue;
      }
      if (before >= 0) {
        const double r = std::sqrt(z_[i] * z_[i] + z_[before] * z_[before]), c = z_[i] / r, s = -z_[before] / r;
        if (std::fabs((d_[i] - d_[before]) * c * s) <= tiny) {
          turn(before, i, c, s);
          z_[i] = r;
          aside_.push_back(before);
          kept_.pop_back();
        }
      }
      kept_.push_back(before = i);
    }
  }
  void turn(int64_t i, int64_t j, double c, double s) {
    double *x = q_.row(i), *y = q_.row(j);
    for (int64_t l = 0; l < n_; ++l) {
      const double t = c * x[l] + s * y[l];
      y[l] = c * y[l] - s * x[l];
      x[l] = t;
    }
    const double t = d_[i] * c * c + d_[j] * s * s;
    d_[j] = d_[i] * s * s + d_[j] * c * c;
    d_[i] = t;
    if (kind_[i] != kind_[j]) kind_[i] = kind_[j] = Kind::Both;
  }

  // The new values, and the vectors as sums of the old ones, which are those of numbers z near the given ones: then
  // they are orthogonal however near to each other the values are (Gu and Eisenstat).
  void solve() {
    k_ = static_cast<int64_t>(kept_.size());
    std::vector<double> d, z, x(static_cast<size_t>(k_)), hat(static_cast<size_t>(k_));
    std::vector<int64_t> origin(static_cast<size_t>(k_));
    for (int64_t i : kept_)
      d.push_back(d_[i]), z.push_back(z_[i]);
    const Secular f{d.data(), z.data(), k_, rho_};
    values_.resize(static_cast<size_t>(k_));
    const int64_t grain = 1 + (1 << 11) / (k_ + 1);
    M::for_ranges(k_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        f.zero(j, origin[j], x[j]);
        values_[j] = d[origin[j]] + x[j];
      }
    });
    auto distance = [&](int64_t j, int64_t i) { return (d[origin[j]] - d[i]) + x[j]; };  // value j - d[i]
    M::for_ranges(k_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double product = distance(k_ - 1, i);
        for (int64_t j = 0; j < i; ++j)
          product *= distance(j, i) / (d[j] - d[i]);
        for (int64_t j = i; j < k_ - 1; ++j)
          product *= distance(j, i) / (d[j + 1] - d[i]);
        hat[i] = std::copysign(std::sqrt(std::fabs(product)), z[i]);
      }
    });
    // Vectors of one kind next to each other, so that products leave out the zeros.
    places_.resize(static_cast<size_t>(k_));
    int64_t at = 0;
    for (Kind kind : {Kind::First, Kind::Both, Kind::Second}) {
      for (int64_t i = 0; i < k_; ++i)
        if (kind_[kept_[i]] == kind) places_[at++] = i;
      if (kind == Kind::First) first_ = at;
      if (kind == Kind::Both) both_ = at;
    }
    parts_ = Matrix(k_, k_);
    M::for_ranges(k_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        double* row = parts_.row(j);
        double length = 0;
        for (int64_t l = 0; l < k_; ++l) {
          const int64_t i = places_[l];
          row[l] = hat[i] / ((d[i] - d[origin[j]]) - x[j]);
          length += row[l] * row[l];
        }
        const double over = 1 / std::sqrt(length);
        for (int64_t l = 0; l < k_; ++l)
          row[l] *= over;
      }
    });
  }

  Eigen vectors(int64_t wanted) {
    std::stable_sort(aside_.begin(), aside_.end(), [&](int64_t i, int64_t j) { return d_[i] < d_[j]; });
    // In the order of all values: a solved one by its number, one that was put aside by what is less than 0.
    std::vector<int64_t> order;
    for (size_t j = 0, aside = 0; j < values_.size() || aside < aside_.size();)
      if (aside == aside_.size() || (j < values_.size() && values_[j] <= d_[aside_[aside]]))
        order.push_back(static_cast<int64_t>(j++));
      else
        order.push_back(-1 - aside_[aside++]);
    const auto begin = order.end() - wanted;
    const int64_t from = std::count_if(order.begin(), begin, [](int64_t i) { return i >= 0; });
    Matrix old(k_, n_), made(k_, n_);
    for (int64_t l = 0; l < k_; ++l)
      std::copy_n(q_.row(kept_[places_[l]]), n_, old.row(l));
    auto product = [&](int64_t first, int64_t last, int64_t column, int64_t columns) {
      if (last > first && columns > 0 && k_ > from)
        M::add_product(Product<double>{k_ - from, columns, last - first, parts_.row(from) + first, parts_.stride, 1,
                                       old.row(first) + column, old.stride, made.row(from) + column, made.stride},
                       1.0);
    };
    product(0, both_, 0, n1_);
    product(first_, k_, n1_, n_ - n1_);
    Eigen out{{}, Matrix(n_, n_)};
    for (auto at = order.begin(); at != order.end(); ++at) {
      if (at >= begin)
        std::copy_n(*at >= 0 ? made.row(*at) : q_.row(-1 - *at), n_, out.vectors.row(at - order.begin()));
      out.values.push_back(*at >= 0 ? values_[*at] : d_[-1 - *at]);
    }
    return out;
  }

  int64_t n1_, n_;
  double rho_;
  std::vector<double> d_, z_;
  Matrix q_;
  std::vector<Kind> kind_;
  std::vector<int64_t> kept_, aside_, places_;
  int64_t k_ = 0, first_ = 0, both_ = 0;  // of places_: those of Kind::First, and of Both too
  std::vector<double> values_;
  Matrix parts_{0, 0};
};

// Of the matrix with this diagonal and these n - 1 numbers next to it: all values, and at least the vectors of the
// largest `wanted`.
template <class M>
Eigen tridiagonal_eigen(const double* d, const double* e, int64_t n, int64_t wanted) {
  constexpr int64_t kSmallest = 48;
  if (n <= kSmallest) return small_eigen(d, e, n);
  const int64_t h = n / 2;
  const double rho = std::fabs(e[h - 1]);
  std::vector<double> first(d, d + h), second(d + h, d + n);
  first[static_cast<size_t>(h - 1)] -= rho, second[0] -= rho;
  Eigen parts[2] = {{{}, Matrix(0, 0)}, {{}, Matrix(0, 0)}};
  M::for_ranges(2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      parts[i] = i == 0 ? tridiagonal_eigen<M>(first.data(), e, h, h)
                        : tridiagonal_eigen<M>(second.data(), e + h, n - h, n - h);
  });
  return Join<M>(parts[0], parts[1], rho, e[h - 1] < 0 ? -1.0 : 1.0).run(wanted);
}

}  // namespace sheaf::routines

// What methods that divide a matrix in halves share: vectors as rows of blocks on the diagonal of one square, and the
// products that make new vectors of the old ones.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "routines/linalg/secular.h"
#include "routines/linalg/steps.h"

namespace sheaf::routines {

// A square block of a matrix.
template <class T>
struct Block {
  T* data;
  int64_t step;
  T* row(int64_t i) const { return data + i * step; }
  Block from(int64_t i) const { return {data + i * (step + 1), step}; }
};

// Memory for some squares of n rows, which is not set. Joins of different parts of a matrix work on different blocks.
template <class T>
class Squares {
 public:
  Squares(int64_t n, int64_t count)
      : n_(n), step_(row_step<T>(n)), memory_(new T[static_cast<size_t>(count * n_ * step_)]) {}
  Block<T> operator[](int64_t i) const { return {memory_.get() + i * n_ * step_, step_}; }

 private:
  int64_t n_, step_;
  std::unique_ptr<T[]> memory_;
};

// Where a vector has elements other than zero: before column `split`, everywhere, or from there on.
enum class Kind : uint8_t { First, Both, Second };

// What a join works with, for vectors of one side of a matrix.
template <class T>
struct Side {
  Block<T> q, old, parts, made;  // vectors; inputs and factors of the product; its result
  int64_t split, columns;        // number of columns; Kind::First is zero from `split` on
  Side from(int64_t i, int64_t at, int64_t count) const {
    return {q.from(i), old.from(i), parts.from(i), made.from(i), at, count};
  }

  // Sets the part of a row that its kind says is zero.
  void complete(int64_t i, Kind kind) const {
    if (kind == Kind::First) std::fill(q.row(i) + split, q.row(i) + columns, T(0));
    if (kind == Kind::Second) std::fill_n(q.row(i), split, T(0));
  }
  void turn(int64_t i, int64_t j, double c, double s) const {
    T *x = q.row(i), *y = q.row(j);
    const T cosine = static_cast<T>(c), sine = static_cast<T>(s);
    for (int64_t l = 0; l < columns; ++l) {
      const T t = cosine * x[l] + sine * y[l];
      y[l] = cosine * y[l] - sine * x[l];
      x[l] = t;
    }
  }
};

// The rows that a join keeps, by kind: so products leave out the zeros.
struct Places {
  std::vector<int64_t> at;  // numbers among those that are kept
  int64_t first = 0, both = 0;
  Places(const std::vector<int64_t>& kept, const std::vector<Kind>& kinds) {
    for (Kind kind : {Kind::First, Kind::Both, Kind::Second}) {
      for (size_t i = 0; i < kept.size(); ++i)
        if (kinds[kept[i]] == kind) at.push_back(static_cast<int64_t>(i));
      if (kind == Kind::First) first = static_cast<int64_t>(at.size());
      if (kind == Kind::Both) both = static_cast<int64_t>(at.size());
    }
  }
};

// Rows of side.q become: for each number in `order`, the sum of the kept rows by the factors in that row of side.parts,
// or, for -1 - i, row i as it was.
template <class M, class T>
void join_vectors(const Side<T>& side, const std::vector<int64_t>& kept, const std::vector<Kind>& kinds,
                  const Places& places, const std::vector<int64_t>& order) {
  const int64_t k = static_cast<int64_t>(kept.size()), n = static_cast<int64_t>(order.size()), split = side.split;
  for (int64_t l = 0; l < k; ++l) {
    const T* from = side.q.row(kept[places.at[l]]);
    if (l < places.both) std::copy_n(from, split, side.old.row(l));
    if (l >= places.first) std::copy(from + split, from + side.columns, side.old.row(l) + split);
    std::fill_n(side.made.row(l), side.columns, T(0));
  }
  auto product = [&](int64_t first, int64_t last, int64_t column, int64_t columns) {
    if (last > first && columns > 0)
      M::add_product(Product<T>{k, columns, last - first, side.parts.data + first, side.parts.step, 1,
                                side.old.row(first) + column, side.old.step, side.made.data + column, side.made.step},
                     T(1));
  };
  product(0, places.both, 0, split);
  product(places.first, k, split, side.columns - split);
  // What stays is put aside, where what was kept has been.
  int64_t aside = 0;
  for (int64_t i : order)
    if (i < 0) {
      side.complete(-1 - i, kinds[-1 - i]);
      std::copy_n(side.q.row(-1 - i), side.columns, side.old.row(aside++));
    }
  aside = 0;
  for (int64_t at = 0; at < n; ++at)
    std::copy_n(order[at] < 0 ? side.old.row(aside++) : side.made.row(order[at]), side.columns, side.q.row(at));
}

// The order of all values of a join: solved ones, which rise, by their number, and row i that was put aside as -1 - i.
inline std::vector<int64_t> order_of_join(const std::vector<double>& solved, std::vector<int64_t> aside,
                                          const double* values) {
  std::stable_sort(aside.begin(), aside.end(), [&](int64_t i, int64_t j) { return values[i] < values[j]; });
  std::vector<int64_t> order;
  for (size_t j = 0, a = 0; j < solved.size() || a < aside.size();)
    if (a == aside.size() || (j < solved.size() && solved[j] <= values[aside[a]]))
      order.push_back(static_cast<int64_t>(j++));
    else
      order.push_back(-1 - aside[a++]);
  return order;
}

// What the vectors of a join are made by: poles and z in the order of the places.
class Factors {
 public:
  Factors(const Secular& f, const Zeros& zeros, const Places& places) : f_(f), zeros_(zeros) {
    for (int64_t i : places.at)
      poles_.push_back(f.d[i]), z_.push_back(zeros.z[i]);
  }
  const std::vector<double>& poles() const { return poles_; }
  // z over the distances of the poles from zero j.
  void quotients(int64_t j, std::vector<double>& out) const {
    const double near = f_.d[zeros_.origin[j]], distance = zeros_.distance[j];
    if (f_.squares)
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = z_[i] / ((poles_[i] - near) * (poles_[i] + near) - distance);
    else
      for (size_t i = 0; i < out.size(); ++i)
        out[i] = z_[i] / ((poles_[i] - near) - distance);
  }
  // A row of factors, divided by its length.
  template <class T>
  static void write(const std::vector<double>& factors, T* row) {
    constexpr size_t kSums = 8;
    double sums[kSums] = {};
    size_t i = 0;
    for (; i + kSums <= factors.size(); i += kSums)
      for (size_t sum = 0; sum < kSums; ++sum)
        sums[sum] += factors[i + sum] * factors[i + sum];
    for (; i < factors.size(); ++i)
      sums[i % kSums] += factors[i] * factors[i];
    const double over = 1 / std::sqrt(total_of(sums));
    for (i = 0; i < factors.size(); ++i)
      row[i] = static_cast<T>(over * factors[i]);
  }

 private:
  const Secular& f_;
  const Zeros& zeros_;
  std::vector<double> poles_, z_;
};

// A step that changes a distance by this part of it leaves an error of about its square.
template <class T>
inline constexpr double kCloseZero = sizeof(T) == 4 ? 1e-5 : 1e-9;

}  // namespace sheaf::routines

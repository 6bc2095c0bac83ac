// What the routines on matrices share: rows of doubles, sums whose bits no compiler changes, and how their arguments
// are read.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "routines/routine.h"
#include "support/error.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// The routines work on rows. They begin an odd number of cache lines apart, or a column of a matrix with 2^k of them
// would lie in few sets of the cache.
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<double> data;
  Matrix(int64_t r, int64_t c)
      : rows(r), columns(c), stride(((c + 7) / 8 | 1) * 8), data(static_cast<size_t>(r * stride)) {}
  double* row(int64_t i) { return data.data() + i * stride; }
  const double* row(int64_t i) const { return data.data() + i * stride; }
};

// Eight sums in vector lanes, so that a compiler may use vectors and every one gives these bits.
inline double dot(const double* a, const double* b, int64_t n) {
  double lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane)
      lanes[lane] += a[i + lane] * b[i + lane];
  double rest = 0;
  for (; i < n; ++i)
    rest += a[i] * b[i];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7])) + rest;
}

inline void add_scaled(double* y, double k, const double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += k * x[i];
}

// Matrix k of a batch, of `elems` elements each.
template <class T>
T* matrix(const RoutineCall& c, int buffer, int64_t k, int64_t elems) {
  return c.buffer<T>(buffer) + k * elems;
}

template <class T>
void fill_nan(T* out, int64_t n) {
  std::fill_n(out, n, std::numeric_limits<T>::quiet_NaN());
}

inline bool is_wide(DType d) {
  INVARIANT(d == DType::F32 || d == DType::F64, "a routine on matrices of dtype " << name_of(d));
  return d == DType::F64;
}

}  // namespace sheaf::routines

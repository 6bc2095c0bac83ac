// What the routines on matrices share: rows of doubles, and how their arguments are read.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
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

// Matrix k of a batch, of `elems` elements each.
template <class T>
T* matrix(const RoutineCall& c, int buffer, int64_t k, int64_t elems) {
  return c.buffer<T>(buffer) + k * elems;
}

template <class T>
void fill_nan(T* out, int64_t n) {
  std::fill_n(out, n, std::numeric_limits<T>::quiet_NaN());
}

// The exponent e for which 2^-e brings the largest element near one (as near as 2^e and 2^-e are normal numbers):
// squares neither overflow nor vanish. False: not all are finite.
template <class T>
bool find_scale(const T* a, int64_t n, int& exponent) {
  T largest = 0, odd = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T x = std::fabs(a[i]);
    largest = x > largest ? x : largest;
    odd += T(0) * x;  // NaN of what is not finite
  }
  if (odd != 0) return false;
  exponent = 0;
  if (largest > 0) std::frexp(largest, &exponent);
  constexpr int kMost = std::numeric_limits<T>::max_exponent - 4;
  exponent = std::clamp(exponent, -kMost, kMost);
  return true;
}

inline bool is_wide(DType d) {
  INVARIANT(d == DType::F32 || d == DType::F64, "a routine on matrices of dtype " << name_of(d));
  return d == DType::F64;
}

// Calls f(std::type_identity<T>{}) with the type of the matrices.
template <class F>
void visit_wide_float(DType dtype, F&& f) {
  is_wide(dtype) ? f(std::type_identity<double>{}) : f(std::type_identity<float>{});
}

}  // namespace sheaf::routines

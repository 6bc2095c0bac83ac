// How a transform of n elements is put together. Decides bits, so it depends on n alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "routines/fft/roots.h"

namespace sheaf::routines {

// n is the product of the radices, each of which is 2, 4, 8 or an odd prime up to 13. In step i, with radix r, s the
// product of the radices before it and m that of those behind it, x is s transforms of r m elements, side by side, and
// y becomes s r transforms of m elements: for q < s and p < m
//   y[q + s (r p + k)] = w^(s p k) * element k of the butterfly of x[q + s (p + m j)], j < r,
// w being the first root of unity of n. The factor is left out where k = 0 or m = 1.
struct Stages {
  bool smooth = false;  // n has no larger prime; otherwise `radices` is empty
  std::vector<int> radices;
  size_t left = 0;  // so many radices have a product near sqrt(n)
  int64_t left_product = 1;
};
Stages stages_of(int64_t n);

// A transform of a length that is not smooth, as a convolution (Bluestein). With c_j = e^(-pi i j^2 / n), y[k] is c_k
// times element k of the convolution of x_j c_j with 1 / c_j, which transforms of `length` elements compute.
template <class T>
struct Chirp {
  int64_t length;
  std::vector<Complex<T>> factors;  // c_j, j < n
  std::vector<Complex<T>> filter;   // the transform of 1 / c_j, over `length`; in double, then rounded
};
template <class T>
Chirp<T> chirp_of(int64_t n);

}  // namespace sheaf::routines

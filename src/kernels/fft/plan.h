// What transforms of a length need, made once and kept: the most recently used plans, as long as they are small enough
// together. Any thread may ask for one.
#pragma once
#include <memory>
#include <vector>

#include "kernels/fft/steps.h"
#include "routines/fft/stages.h"

namespace sheaf::kernels {

// Numbers for vectors: real and imaginary parts apart.
template <class T>
struct Table {
  std::vector<T> re, im;
  ConstParts<T> parts() const { return {re.data(), im.data()}; }
  void append(routines::Complex<T> z) { re.push_back(z.re), im.push_back(z.im); }
};

template <class T>
struct FftPlan {
  struct Step {
    int radix;
    int64_t s, m;         // the products of the radices before it and behind it
    ConstParts<T> roots;  // [radix - 1][m], as ColumnStep has them
  };
  int64_t n;
  std::vector<Step> steps;  // none where n is not smooth
  size_t left = 0;          // the first steps, on the rows of a matrix of `rows` rows and `columns` columns
  int64_t rows = 1, columns = 1;
  Table<T> roots;  // of the steps
  // Not smooth: a convolution by transforms of this plan (routines::Chirp).
  std::shared_ptr<const FftPlan> convolution;
  Table<T> chirp, filter;
};

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// Roots of unity of 2 half, the first half / 2 + 1.
template <class T>
std::shared_ptr<const Table<T>> fold_roots(int64_t half);

}  // namespace sheaf::kernels

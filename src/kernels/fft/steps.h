// The inner loops of transforms for this processor. Real and imaginary parts are arrays of their own, except where
// `pairs` are named. Any thread may call them.
#pragma once
#include <cstdint>

namespace sheaf::kernels {

inline constexpr int kLargestRadix = 13;

// Complex numbers, real and imaginary parts apart.
template <class T>
struct Parts {
  T *re, *im;
  Parts operator+(int64_t n) const { return {re + n, im + n}; }
  Parts swapped() const { return {im, re}; }
};
template <class T>
struct ConstParts {
  const T *re, *im;
  ConstParts(const T* re, const T* im) : re(re), im(im) {}
  ConstParts(Parts<T> p) : re(p.re), im(p.im) {}
  ConstParts operator+(int64_t n) const { return {re + n, im + n}; }
};

// Complex numbers as pairs, real and imaginary parts exchanged if `swapped`. What is written is multiplied by `scale`.
template <class T>
struct PairsIn {
  const T* at = nullptr;
  bool swapped = false;
};
template <class T>
struct PairsOut {
  T* at = nullptr;
  bool swapped = false;
  T scale = 1;
};

// A step of radix r on `s` transforms of r * parts * width elements, along contiguous runs of `width` of them:
//   y[((q + s k) parts + p) y_ld + c] = root[(k - 1) roots_ld + p root_ld + c] *
//                                       element k of the butterfly of x[((q r + j) parts + p) x_ld + c], j < r,
// for q < s, p < parts, c < width, which is at least a vector.
template <class T>
struct RowStep {
  PairsIn<T> pairs;  // x for row_step_of_pairs
  ConstParts<T> x;
  Parts<T> y;
  ConstParts<T> roots;
  int64_t s, parts, width, x_ld, y_ld, roots_ld, root_ld;
};

// A step of radix r on r * m elements of s * width transforms side by side:
//   y[(r p + k) s width + c] = root[(k - 1) m + p] * element k of the butterfly of x[(p + m j) s width + c], j < r,
// for p < m and c < s width; width is at least a vector. The last step has no roots, and m = 1.
template <class T>
struct ColumnStep {
  ConstParts<T> x;
  Parts<T> y;
  ConstParts<T> roots;
  int64_t m, s, width;
  // column_step_of_pairs: x[t width + c] is pair t pairs_ld + c of `from`, and s = 1. last_column_step_to_pairs:
  // y[t width + c] is pair t pairs_ld + c of `to`.
  PairsIn<T> from;
  PairsOut<T> to;
  int64_t pairs_ld;
};

template <class T>
using RowSteps = void (*[kLargestRadix + 1])(const RowStep<T>&);
template <class T>
using ColumnSteps = void (*[kLargestRadix + 1])(const ColumnStep<T>&);

template <class T>
struct FftSteps {
  int64_t lanes;
  // By radix.
  RowSteps<T> row_step, row_step_of_pairs;
  ColumnSteps<T> column_step, column_step_of_pairs, last_column_step, last_column_step_to_pairs;
  // to.re[i] = pairs[2 i], to.im[i] = pairs[2 i + 1]
  void (*split)(const T* pairs, Parts<T> to, int64_t n);
  // pairs[2 i] = scale x.re[i], pairs[2 i + 1] = scale x.im[i]
  void (*join)(ConstParts<T> x, T* pairs, int64_t n, T scale);
  // y.re[j ld + lane], y.im[j ld + lane] = the pair x[lane x_ld + 2 j], for j < n; lanes of rows that there are not are
  // those of the last one.
  void (*pairs_to_lanes)(const T* x, int64_t x_ld, int64_t rows, Parts<T> y, int64_t ld, int64_t n);
  void (*lanes_to_pairs)(ConstParts<T> x, int64_t ld, int64_t n, T* y, int64_t y_ld, int64_t rows, T scale);
  void (*numbers_to_lanes)(const T* x, int64_t x_ld, int64_t rows, T* y, int64_t ld, int64_t n);
  void (*lanes_to_numbers)(const T* x, int64_t ld, int64_t n, T* y, int64_t y_ld, int64_t rows, T scale);
  // y[i] = scale x[i]
  void (*scale)(const T* x, T* y, int64_t n, T scale);
  // y[i] = a[i] b[i]
  void (*multiply)(ConstParts<T> a, ConstParts<T> b, Parts<T> y, int64_t n);
  // The transform y (`half` + 1 pairs) of 2 half reals from that of half complex numbers z, for k from `first` to below
  // `last` of 1 <= k <= half / 2 and their mirror images; roots[k] of 2 half.
  void (*unfold)(ConstParts<T> z, ConstParts<T> roots, int64_t half, int64_t first, int64_t last, T scale, T* pairs);
  // What `unfold` came from, from y.
  void (*fold)(const T* pairs, ConstParts<T> roots, int64_t half, int64_t first, int64_t last, Parts<T> z);
  // The same, all of it, of `width` transforms side by side.
  void (*unfold_columns)(ConstParts<T> z, ConstParts<T> roots, int64_t half, int64_t width, T scale, Parts<T> y);
  void (*fold_columns)(ConstParts<T> y, ConstParts<T> roots, int64_t half, int64_t width, Parts<T> z);
};

// T is float or double.
template <class T>
const FftSteps<T>& fft_steps();

}  // namespace sheaf::kernels

// The transform of one row. Uses the workers where that pays; scratch memory 0, 1 and 3 of the thread.
#pragma once
#include "kernels/fft/plan.h"

namespace sheaf::kernels {

// Where a row comes from and goes to: pairs, or else parts. With `swapped`, real and imaginary parts of pairs are
// exchanged; only pairs are scaled.
template <class T>
struct RowSource {
  const T* pairs = nullptr;
  ConstParts<T> parts = {nullptr, nullptr};
  bool swapped = false;
};
template <class T>
struct RowTarget {
  T* pairs = nullptr;
  Parts<T> parts = {nullptr, nullptr};
  bool swapped = false;
  T scale = 1;
};

template <class T>
void transform_row(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to);

// Steps of the plan from `first` on of the transforms in the columns of x [columns, width]; x and y are scratch memory.
// Returns where the results are: in `target` if that is not nullptr, else in x or y.
template <class T>
Parts<T> transform_columns(const FftPlan<T>& plan, size_t first, Parts<T> x, Parts<T> y, int64_t width,
                           Parts<T> target = {nullptr, nullptr});

// What a transform of n elements takes, for grains.
int64_t fft_flops(int64_t n);

}  // namespace sheaf::kernels

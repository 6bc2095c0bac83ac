// The transform of one row. Uses the workers where that pays; scratch memory 0, 1 and 3 of the thread.
#pragma once
#include "kernels/fft/plan.h"

namespace sheaf::kernels {

// Where a row comes from and goes to: pairs, or else parts. Only pairs are scaled.
template <class T>
struct RowSource {
  PairsIn<T> pairs = {};
  ConstParts<T> parts = {nullptr, nullptr};
};
template <class T>
struct RowTarget {
  PairsOut<T> pairs = {};
  Parts<T> parts = {nullptr, nullptr};
};

template <class T>
void transform_row(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to);

// Transforms in the columns of a matrix.
template <class T>
struct Columns {
  size_t first = 0;  // step of the plan: those before it are done
  int64_t width;
  Parts<T> x, free;      // x [columns, width] and as much scratch memory; both are changed
  PairsIn<T> from = {};  // with first == 0, instead of what is in x: rows of pairs, pairs_ld apart
  PairsOut<T> to = {};   // pairs_ld apart
  int64_t pairs_ld = 0;
  Parts<T> target = {nullptr, nullptr};
};
// Returns where the results are, unless they went `to` pairs: in `target` if that is given, else in x or free.
template <class T>
Parts<T> transform_columns(const FftPlan<T>& plan, const Columns<T>& c);

// What a transform of n elements takes, for grains.
int64_t fft_flops(int64_t n);

}  // namespace sheaf::kernels

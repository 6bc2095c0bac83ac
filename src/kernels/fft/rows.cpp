#include "kernels/fft/rows.h"

#include <algorithm>
#include <bit>

#include "kernels/tasks.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kWholeBytes = 256 << 10;  // of a row that is transformed in one piece; its buffers fit into an L2
constexpr int64_t kBlockBytes = 256 << 10;  // of the blocks and groups of longer rows

// [first, last) of piece i of n elements, in pieces of `each` but the last, which has what is left besides.
struct Range {
  int64_t first, last;
  Range(int64_t i, int64_t n, int64_t each) : first(i * each), last(i + 1 == count(n, each) ? n : first + each) {}
  int64_t size() const { return last - first; }
  static int64_t count(int64_t n, int64_t each) { return std::max<int64_t>(1, n / each); }
};

template <class T>
class LongRow {
 public:
  LongRow(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to)
      : plan_(plan),
        from_(from),
        to_(to),
        whole_(plan.n * int64_t{2 * sizeof(T)} <= kWholeBytes),
        middle_{scratch<T>(1, static_cast<size_t>(2 * plan.n)), nullptr} {
    middle_.im = middle_.re + plan.n;
  }
  void run() {
    const int64_t width = piece(plan_.columns, plan_.rows), height = piece(plan_.rows, plan_.columns);
    pieces_of(plan_.columns, width, [&](Range columns) { run_left(columns); });
    pieces_of(plan_.rows, height, [&](Range rows) { run_right(rows); });
  }

 private:
  int64_t piece(int64_t n, int64_t other) const {
    if (whole_) return n;
    const int64_t fitting = kBlockBytes / (other * int64_t{2 * sizeof(T)});
    return std::clamp(fitting / steps_.lanes, int64_t{1}, n / steps_.lanes) * steps_.lanes;
  }
  template <class F>
  void pieces_of(int64_t n, int64_t each, F&& f) {
    const int64_t count = Range::count(n, each);
    if (count == 1) return f(Range(0, n, each));
    runtime::parallel_for(
        count,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            f(Range(i, n, each));
        },
        std::max<int64_t>(1, kTaskFlops * count / fft_flops(plan_.n)));
  }
  // Two arrays of n numbers, of this thread.
  struct Buffers {
    Parts<T> a, b;
    explicit Buffers(int64_t n) {
      T* all = scratch<T>(0, static_cast<size_t>(4 * n));
      a = {all, all + n}, b = {all + 2 * n, all + 3 * n};
    }
  };

  // The first steps on some columns of the matrix, from the source to the middle.
  void run_left(Range columns) {
    const int64_t width = columns.size();
    const bool all = width == plan_.columns;
    const Buffers buffers(plan_.rows * width);
    ConstParts<T> x = buffers.a;
    int64_t x_ld = width;
    Parts<T> free = buffers.b;
    if (from_.pairs) {
      const Parts<T> to = from_.swapped ? buffers.a.swapped() : buffers.a;
      const int64_t rows = all ? 1 : plan_.rows, length = all ? plan_.n : width;
      for (int64_t j = 0; j < rows; ++j)
        steps_.split(from_.pairs + 2 * (j * plan_.columns + columns.first), to + j * length, length);
    } else {
      x = from_.parts + columns.first, x_ld = plan_.columns, free = buffers.a;
    }
    for (size_t i = 0; i < plan_.left; ++i) {
      const auto& step = plan_.steps[i];
      const bool last = i + 1 == plan_.left;
      const Parts<T> y = last ? middle_ + columns.first : free;
      const int64_t y_ld = last ? plan_.columns : width, parts = step.m / plan_.columns;
      const RowStep<T> args =
          all ? RowStep<T>{x, y, step.roots, step.s, 1, step.m, step.m, step.m, step.m, 0}
              : RowStep<T>{x, y, step.roots + columns.first, step.s, parts, width, x_ld, y_ld, step.m, plan_.columns};
      steps_.row_step[step.radix](args);
      free = free.re == buffers.a.re ? buffers.b : buffers.a;
      x = y, x_ld = y_ld;
    }
  }

  // The other steps on some rows of the middle, which become columns.
  void run_right(Range rows) {
    const int64_t height = rows.size(), columns = plan_.columns;
    const bool all = height == plan_.rows;
    const Buffers buffers(columns * height);
    for (int64_t q = 0; q < height; q += steps_.lanes) {
      const int64_t at = std::min(q, height - steps_.lanes), row = (rows.first + at) * columns;
      steps_.numbers_to_lanes(middle_.re + row, columns, steps_.lanes, buffers.a.re + at, height, columns);
      steps_.numbers_to_lanes(middle_.im + row, columns, steps_.lanes, buffers.a.im + at, height, columns);
    }
    const Parts<T> none = {nullptr, nullptr};
    const Parts<T> y =
        transform_columns(plan_, plan_.left, buffers.a, buffers.b, height, all && !to_.pairs ? to_.parts : none);
    const int64_t runs = all ? 1 : columns, length = all ? plan_.n : height;
    for (int64_t j = 0; j < runs; ++j) {
      const int64_t at = j * plan_.rows + rows.first;
      const Parts<T> run = y + j * length;
      if (to_.pairs) {
        steps_.join(to_.swapped ? run.swapped() : run, to_.pairs + 2 * at, length, to_.scale);
      } else if (!all) {
        std::copy_n(run.re, length, to_.parts.re + at);
        std::copy_n(run.im, length, to_.parts.im + at);
      }
    }
  }

  const FftPlan<T>& plan_;
  const RowSource<T>& from_;
  const RowTarget<T>& to_;
  const FftSteps<T>& steps_ = fft_steps<T>();
  const bool whole_;
  Parts<T> middle_;  // [rows, columns], between the first steps and the others
};

// In one lane: too short for more.
template <class T>
void transform_short(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to) {
  const FftSteps<T>& steps = fft_steps<T>();
  const int64_t lanes = steps.lanes, size = plan.n * lanes;
  T* all = scratch<T>(0, static_cast<size_t>(4 * size));
  Parts<T> x = {all, all + size};
  const Parts<T> other = {all + 2 * size, all + 3 * size};
  if (from.pairs) {
    steps.pairs_to_lanes(from.pairs, 0, 1, from.swapped ? x.swapped() : x, lanes, plan.n);
  } else {
    steps.numbers_to_lanes(from.parts.re, 0, 1, x.re, lanes, plan.n);
    steps.numbers_to_lanes(from.parts.im, 0, 1, x.im, lanes, plan.n);
  }
  const Parts<T> y = transform_columns(plan, 0, x, other, lanes);
  if (to.pairs) {
    steps.lanes_to_pairs(to.swapped ? y.swapped() : y, lanes, plan.n, to.pairs, 0, 1, to.scale);
  } else {
    steps.lanes_to_numbers(y.re, lanes, plan.n, to.parts.re, 0, 1, T(1));
    steps.lanes_to_numbers(y.im, lanes, plan.n, to.parts.im, 0, 1, T(1));
  }
}

// The convolution with a chirp.
template <class T>
void transform_chirp(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to) {
  const FftSteps<T>& steps = fft_steps<T>();
  const int64_t n = plan.n, length = plan.convolution->n;
  T* all = scratch<T>(3, static_cast<size_t>(4 * length));
  const Parts<T> x = {all, all + length}, y = {all + 2 * length, all + 3 * length};
  ConstParts<T> in = from.parts;
  if (from.pairs) {
    steps.split(from.pairs, from.swapped ? x.swapped() : x, n);
    in = x;
  }
  steps.multiply(in, plan.chirp.parts(), x, n);
  std::fill(x.re + n, x.re + length, T(0));
  std::fill(x.im + n, x.im + length, T(0));
  transform_row<T>(*plan.convolution, {.parts = x}, {.parts = y});
  steps.multiply(y, plan.filter.parts(), y, length);
  transform_row<T>(*plan.convolution, {.parts = y.swapped()}, {.parts = x.swapped()});
  steps.multiply(x, plan.chirp.parts(), to.pairs ? x : to.parts, n);
  if (to.pairs) steps.join(to.swapped ? x.swapped() : x, to.pairs, n, to.scale);
}

}  // namespace

int64_t fft_flops(int64_t n) { return 5 * n * static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(n))); }

template <class T>
Parts<T> transform_columns(const FftPlan<T>& plan, size_t first, Parts<T> x, Parts<T> y, int64_t width,
                           Parts<T> target) {
  for (size_t i = first; i < plan.steps.size(); ++i) {
    const auto& step = plan.steps[i];
    const Parts<T> to = target.re && i + 1 == plan.steps.size() ? target : y;
    // Every step sees the transforms that it divides as further columns.
    const int64_t s = step.s / plan.steps[first].s;
    fft_steps<T>().column_step[step.radix]({x, to, step.roots, step.m, s * width});
    y = x, x = to;
  }
  return x;
}

template <class T>
void transform_row(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to) {
  const int64_t least = std::max<int64_t>(2, fft_steps<T>().lanes);
  if (plan.convolution)
    transform_chirp(plan, from, to);
  else if (plan.rows < least || plan.columns < least)
    transform_short(plan, from, to);
  else
    LongRow<T>(plan, from, to).run();
}

template void transform_row(const FftPlan<float>&, const RowSource<float>&, const RowTarget<float>&);
template void transform_row(const FftPlan<double>&, const RowSource<double>&, const RowTarget<double>&);
template Parts<float> transform_columns(const FftPlan<float>&, size_t, Parts<float>, Parts<float>, int64_t,
                                        Parts<float>);
template Parts<double> transform_columns(const FftPlan<double>&, size_t, Parts<double>, Parts<double>, int64_t,
                                         Parts<double>);

}  // namespace sheaf::kernels

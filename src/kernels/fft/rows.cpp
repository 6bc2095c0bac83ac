#include "kernels/fft/rows.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/tasks.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kWholeBytes = 256 << 10;  // of a row that is transformed in one piece; its buffers fit into an L2
constexpr int64_t kBlockBytes = 256 << 10;  // of the blocks and groups of longer rows

// [first, last) of piece i of n elements. Pieces have `each` elements; the last one also has the remainder.
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
      : plan_(plan), from_(from), to_(to) {}
  void run() {
    if (plan_.n * int64_t{2 * sizeof(T)} <= kWholeBytes) {
      const Buffers buffers(plan_.n);
      width_ = plan_.columns;
      middle_ = run_left({0, plan_.columns, width_}, buffers);
      return run_right({0, plan_.rows, plan_.rows}, buffers.other(middle_), buffers);
    }
    T* numbers = scratch<T>(1, static_cast<size_t>(2 * plan_.n));
    middle_ = {numbers, numbers + plan_.n};
    width_ = piece(plan_.columns, plan_.rows);
    for_pieces(plan_.columns, width_, [&](Range columns) { run_left(columns, Buffers(plan_.rows * columns.size())); });
    for_pieces(plan_.rows, piece(plan_.rows, plan_.columns), [&](Range rows) {
      const Buffers buffers(plan_.columns * rows.size());
      run_right(rows, buffers.a, buffers);
    });
  }

 private:
  // Two arrays of n numbers, of this thread.
  struct Buffers {
    Parts<T> a, b;
    explicit Buffers(int64_t n) {
      T* all = scratch<T>(0, static_cast<size_t>(4 * n));
      a = {all, all + n}, b = {all + 2 * n, all + 3 * n};
    }
    Parts<T> other(Parts<T> x) const { return x.re == a.re ? b : a; }
  };

  // Of n columns or rows of `length` elements, how many are a piece.
  int64_t piece(int64_t n, int64_t length) const {
    const int64_t fitting = kBlockBytes / (length * int64_t{2 * sizeof(T)});
    return std::clamp(fitting / steps_.lanes, int64_t{1}, n / steps_.lanes) * steps_.lanes;
  }
  template <class F>
  void for_pieces(int64_t n, int64_t each, F&& f) const {
    const int64_t count = Range::count(n, each);
    runtime::parallel_for(
        count,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            f(Range(i, n, each));
        },
        std::max<int64_t>(1, kTaskFlops * count / fft_flops(plan_.n)));
  }

  // The first steps on some columns of the matrix, from the source to the middle, or if there is none yet to the buffer
  // that is returned.
  Parts<T> run_left(Range columns, const Buffers& buffers) const {
    const int64_t width = columns.size();
    ConstParts<T> x = from_.parts;
    if (!from_.pairs.at) x = x + columns.first;
    Parts<T> y = buffers.b;
    int64_t x_ld = plan_.columns;
    for (size_t i = 0; i < plan_.left; ++i) {
      const auto& step = plan_.steps[i];
      y = middle_.re && i + 1 == plan_.left ? middle_ + plan_.rows * columns.first : buffers.other(y);
      RowStep<T> args{
          from_.pairs,  x, y, step.roots + columns.first, step.s, step.m / plan_.columns, width, x_ld, width, step.m,
          plan_.columns};
      if (args.pairs.at) args.pairs.at += 2 * columns.first;
      if (width == plan_.columns)  // one run
        args.parts = 1, args.width = args.x_ld = args.y_ld = step.m;
      (i == 0 && from_.pairs.at ? steps_.row_step_of_pairs : steps_.row_step)[step.radix](args);
      x = y, x_ld = width;
    }
    return y;
  }

  // The other steps on some rows of the middle, which become columns in x, one of the buffers.
  void run_right(Range rows, Parts<T> x, const Buffers& buffers) const {
    const int64_t height = rows.size(), columns = plan_.columns;
    for (int64_t q = 0; q < height; q += steps_.lanes) {
      const int64_t at = std::min(q, height - steps_.lanes);
      for (int64_t i = 0; i < Range::count(columns, width_); ++i) {
        const Range block(i, columns, width_);
        const Parts<T> from = middle_ + (plan_.rows * block.first + (rows.first + at) * block.size()),
                       to = x + (block.first * height + at);
        steps_.numbers_to_lanes(from.re, block.size(), steps_.lanes, to.re, height, block.size());
        steps_.numbers_to_lanes(from.im, block.size(), steps_.lanes, to.im, height, block.size());
      }
    }
    Columns<T> c{.first = plan_.left, .width = height, .x = x, .free = buffers.other(x), .pairs_ld = plan_.rows};
    if (to_.pairs.at) {
      c.to = to_.pairs;
      c.to.at += 2 * rows.first;
    } else if (height == plan_.rows) {
      c.target = to_.parts;
    }
    const Parts<T> y = transform_columns(plan_, c);
    if (to_.pairs.at || height == plan_.rows) return;
    for (int64_t j = 0; j < columns; ++j) {
      std::copy_n(y.re + j * height, height, to_.parts.re + j * plan_.rows + rows.first);
      std::copy_n(y.im + j * height, height, to_.parts.im + j * plan_.rows + rows.first);
    }
  }

  const FftPlan<T>& plan_;
  const RowSource<T>& from_;
  const RowTarget<T>& to_;
  const FftSteps<T>& steps_ = fft_steps<T>();
  // Between the first steps and the others: for each piece of `width_` columns, its rows one after the other.
  Parts<T> middle_ = {nullptr, nullptr};
  int64_t width_ = 0;
};

// In one lane: too short for more.
template <class T>
void transform_short(const FftPlan<T>& plan, const RowSource<T>& from, const RowTarget<T>& to) {
  const FftSteps<T>& steps = fft_steps<T>();
  const int64_t lanes = steps.lanes, size = plan.n * lanes;
  T* all = scratch<T>(0, static_cast<size_t>(4 * size));
  const Parts<T> x = {all, all + size};
  if (from.pairs.at) {
    steps.pairs_to_lanes(from.pairs.at, 0, 1, from.pairs.swapped ? x.swapped() : x, lanes, plan.n);
  } else {
    steps.numbers_to_lanes(from.parts.re, 0, 1, x.re, lanes, plan.n);
    steps.numbers_to_lanes(from.parts.im, 0, 1, x.im, lanes, plan.n);
  }
  const Parts<T> y = transform_columns<T>(plan, {.width = lanes, .x = x, .free = {all + 2 * size, all + 3 * size}});
  if (to.pairs.at) {
    steps.lanes_to_pairs(to.pairs.swapped ? y.swapped() : y, lanes, plan.n, to.pairs.at, 0, 1, to.pairs.scale);
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
  if (from.pairs.at) {
    steps.split(from.pairs.at, from.pairs.swapped ? x.swapped() : x, n);
    in = x;
  }
  steps.multiply(in, plan.chirp.parts(), x, n);
  std::fill(x.re + n, x.re + length, T(0));
  std::fill(x.im + n, x.im + length, T(0));
  transform_row<T>(*plan.convolution, {.parts = x}, {.parts = y});
  steps.multiply(y, plan.filter.parts(), y, length);
  transform_row<T>(*plan.convolution, {.parts = y.swapped()}, {.parts = x.swapped()});
  steps.multiply(x, plan.chirp.parts(), to.pairs.at ? x : to.parts, n);
  if (to.pairs.at) steps.join(to.pairs.swapped ? x.swapped() : x, to.pairs.at, n, to.pairs.scale);
}

}  // namespace

int64_t fft_flops(int64_t n) { return 5 * n * static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(n))); }

template <class T>
Parts<T> transform_columns(const FftPlan<T>& plan, const Columns<T>& c) {
  const FftSteps<T>& steps = fft_steps<T>();
  const size_t count = plan.steps.size();
  Parts<T> x = c.x, y = c.free;
  PairsIn<T> from = c.from;
  if (from.at && count - c.first < 2) {  // the last step, if there is one, reads parts
    for (int64_t j = 0; j < plan.n; ++j)
      steps.split(from.at + 2 * j * c.pairs_ld, (from.swapped ? x.swapped() : x) + j * c.width, c.width);
    from.at = nullptr;
  }
  for (size_t i = c.first; i < count; ++i) {
    const auto& step = plan.steps[i];
    const bool last = i + 1 == count;
    if (last && c.target.re) y = c.target;
    // Every step sees the transforms that it divides as further columns.
    ColumnStep<T> args{x, y, step.roots, step.m, step.s / plan.steps[c.first].s, c.width, from, c.to, c.pairs_ld};
    if (!last) {
      (from.at ? steps.column_step_of_pairs : steps.column_step)[step.radix](args);
    } else if (c.to.at) {
      if (c.pairs_ld == c.width) args.width = args.pairs_ld = args.s * c.width, args.s = 1;  // one run
      steps.last_column_step_to_pairs[step.radix](args);
    } else {
      args.width = args.s * c.width, args.s = 1;
      steps.last_column_step[step.radix](args);
    }
    from.at = nullptr;
    std::swap(x, y);
  }
  if (c.to.at && count == c.first)
    for (int64_t j = 0; j < plan.n; ++j)
      steps.join((c.to.swapped ? x.swapped() : x) + j * c.width, c.to.at + 2 * j * c.pairs_ld, c.width, c.to.scale);
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
template Parts<float> transform_columns(const FftPlan<float>&, const Columns<float>&);
template Parts<double> transform_columns(const FftPlan<double>&, const Columns<double>&);

}  // namespace sheaf::kernels

#include "kernels/fft/fft.h"

#include <algorithm>

#include "kernels/fft/plan.h"
#include "kernels/fft/rows.h"
#include "kernels/tasks.h"

namespace sheaf::kernels {
namespace {

using routines::FftArgs;
using routines::FftKind;

constexpr int64_t kColumnBytes = 1 << 20;  // of the buffers of a block of columns: they fit into an L2, or nearly
constexpr int64_t kColumnVectors = 4;      // of a block of columns at most: whole cache lines are read
constexpr int64_t kNextBytes = 8 << 10;    // of the next row, which is another page: it is read while a row is done
constexpr int64_t kShortRow = 256;         // up to which rows are transformed as lanes of vectors

template <class T>
struct Job {
  FftArgs<> args;
  const T* x;
  T* y;
  T scale;
  int64_t half;    // n / 2
  bool even_real;  // half as many complex numbers are transformed
  std::shared_ptr<const FftPlan<T>> plan;
  std::shared_ptr<const Table<T>> folding;  // where even_real

  int64_t x_length() const { return args.kind == FftKind::ToReal ? half + 1 : args.n; }
  int64_t y_length() const { return args.kind == FftKind::FromReal ? half + 1 : args.n; }
  int64_t x_numbers() const { return args.kind == FftKind::FromReal ? 1 : 2; }  // of an element
  int64_t y_numbers() const { return args.kind == FftKind::ToReal ? 1 : 2; }
};

// Some neighbouring transforms of inner > 1, as columns.
template <class T>
struct AxisColumns {
  const T* x;
  T* y;
  int64_t inner, width;
  const FftSteps<T>& steps = fft_steps<T>();

  void pairs_in(Parts<T> to, int64_t n) const {
    for (int64_t j = 0; j < n; ++j)
      steps.split(x + 2 * j * inner, to + j * width, width);
  }
  void reals_in(T* to, int64_t n) const {
    for (int64_t j = 0; j < n; ++j)
      std::copy_n(x + j * inner, width, to + j * width);
  }
  // Elements at even places as real parts, those at odd places as imaginary ones.
  void alternating_in(Parts<T> to, int64_t n) const {
    for (int64_t j = 0; j < 2 * n; ++j)
      std::copy_n(x + j * inner, width, (j % 2 ? to.im : to.re) + j / 2 * width);
  }
  void pairs_out(ConstParts<T> from, int64_t n, T scale) const {
    for (int64_t j = 0; j < n; ++j)
      steps.join(from + j * width, y + 2 * j * inner, width, scale);
  }
  void reals_out(const T* from, int64_t n, T scale) const {
    for (int64_t j = 0; j < n; ++j)
      steps.scale(from + j * width, y + j * inner, width, scale);
  }
  void alternating_out(ConstParts<T> from, int64_t n, T scale) const {
    for (int64_t j = 0; j < 2 * n; ++j)
      steps.scale((j % 2 ? from.im : from.re) + j / 2 * width, y + j * inner, width, scale);
  }
};

// Some neighbouring transforms of inner == 1, each in a lane.
template <class T>
struct RowsInLanes {
  const T* x;
  T* y;
  int64_t x_ld, y_ld, rows, width;
  const FftSteps<T>& steps = fft_steps<T>();

  void pairs_in(Parts<T> to, int64_t n) const { steps.pairs_to_lanes(x, x_ld, rows, to, width, n); }
  void reals_in(T* to, int64_t n) const { steps.numbers_to_lanes(x, x_ld, rows, to, width, n); }
  void alternating_in(Parts<T> to, int64_t n) const { pairs_in(to, n); }
  void pairs_out(ConstParts<T> from, int64_t n, T scale) const {
    steps.lanes_to_pairs(from, width, n, y, y_ld, rows, scale);
  }
  void reals_out(const T* from, int64_t n, T scale) const {
    steps.lanes_to_numbers(from, width, n, y, y_ld, rows, scale);
  }
  void alternating_out(ConstParts<T> from, int64_t n, T scale) const { pairs_out(from, n, scale); }
};

// Transforms side by side: `io` brings them to columns of io.width and back.
template <class T, class Io>
void transform_block(const Job<T>& job, const Io& io) {
  const int64_t n = job.args.n, half = job.half, width = io.width, size = (job.plan->n + 1) * width;
  const FftSteps<T>& steps = fft_steps<T>();
  T* all = scratch<T>(0, static_cast<size_t>(4 * size));
  const Parts<T> a = {all, all + size}, b = {all + 2 * size, all + 3 * size};
  auto other = [&](Parts<T> x) { return std::min(x.re, x.im) == a.re ? b : a; };
  auto transformed = [&](Parts<T> x) {
    return transform_columns<T>(*job.plan, {.width = width, .x = x, .free = other(x)});
  };
  switch (job.args.kind) {
    case FftKind::Complex: {
      const Parts<T> in = job.args.inverse ? a.swapped() : a;
      io.pairs_in(in, n);
      const Parts<T> out = transformed(a);
      return io.pairs_out(job.args.inverse ? out.swapped() : out, n, job.scale);
    }
    case FftKind::FromReal:
      if (job.even_real) {
        io.alternating_in(a, half);
        const Parts<T> z = transformed(a), y = other(z);
        steps.unfold_columns(z, job.folding->parts(), half, width, job.scale, y);
        return io.pairs_out(y, half + 1, T(1));
      }
      io.reals_in(a.re, n);
      std::fill_n(a.im, n * width, T(0));
      return io.pairs_out(transformed(a), half + 1, job.scale);
    case FftKind::ToReal:
      io.pairs_in(a, half + 1);
      if (job.even_real) {
        steps.fold_columns(a, job.folding->parts(), half, width, b);
        return io.alternating_out(transformed(b.swapped()).swapped(), half, job.scale);
      }
      std::fill_n(a.im, width, T(0));
      for (int64_t k = 1; k <= half; ++k) {
        std::copy_n(a.re + k * width, width, a.re + (n - k) * width);
        steps.scale(a.im + k * width, a.im + (n - k) * width, width, T(-1));
      }
      return io.reals_out(transformed(a.swapped()).im, n, job.scale);
  }
}

// Complex numbers need not be brought to columns: the first step reads pairs, and the last one writes them.
template <class T>
void transform_pairs(const Job<T>& job, const AxisColumns<T>& io) {
  const int64_t size = job.args.n * io.width;
  T* all = scratch<T>(0, static_cast<size_t>(4 * size));
  transform_columns<T>(*job.plan, {.width = io.width,
                                   .x = {all, all + size},
                                   .free = {all + 2 * size, all + 3 * size},
                                   .from = {io.x, job.args.inverse},
                                   .to = {io.y, job.args.inverse, job.scale},
                                   .pairs_ld = io.inner});
}

// One transform of inner == 1.
template <class T>
void transform_single(const Job<T>& job, const T* x, T* y) {
  const int64_t n = job.args.n, half = job.half;
  const bool inverse = job.args.inverse;
  const FftSteps<T>& steps = fft_steps<T>();
  if (job.args.kind == FftKind::Complex)
    return transform_row<T>(*job.plan, {.pairs = {x, inverse}}, {.pairs = {y, inverse, job.scale}});
  T* all = scratch<T>(2, static_cast<size_t>(4 * job.plan->n));
  const Parts<T> a = {all, all + job.plan->n}, b = {all + 2 * job.plan->n, all + 3 * job.plan->n};
  auto each_mirrored = [&](auto f) {
    runtime::parallel_for(half / 2, [&](int64_t begin, int64_t end) { f(begin + 1, end + 1); }, kTaskFlops / 32);
  };
  if (job.args.kind == FftKind::FromReal) {
    if (!job.even_real) {
      std::fill_n(a.im, n, T(0));
      transform_row<T>(*job.plan, {.parts = {x, a.im}}, {.parts = b});
      return steps.join(b, y, half + 1, job.scale);
    }
    transform_row<T>(*job.plan, {.pairs = {x}}, {.parts = a});
    y[0] = (a.re[0] + a.im[0]) * job.scale, y[1] = 0;
    y[2 * half] = (a.re[0] - a.im[0]) * job.scale, y[2 * half + 1] = 0;
    each_mirrored(
        [&](int64_t first, int64_t last) { steps.unfold(a, job.folding->parts(), half, first, last, job.scale, y); });
  } else if (job.even_real) {
    a.re[0] = x[0] + x[2 * half], a.im[0] = x[0] - x[2 * half];
    each_mirrored([&](int64_t first, int64_t last) { steps.fold(x, job.folding->parts(), half, first, last, a); });
    transform_row<T>(*job.plan, {.parts = a.swapped()}, {.pairs = {y, true, job.scale}});
  } else {
    steps.split(x, a, half + 1);
    a.im[0] = 0;
    for (int64_t k = 1; k <= half; ++k)
      a.re[n - k] = a.re[k], a.im[n - k] = -a.im[k];
    transform_row<T>(*job.plan, {.parts = a.swapped()}, {.parts = b});
    steps.scale(b.im, y, n, job.scale);
  }
}

// One transform of any inner: what lies apart is gathered.
template <class T>
void transform_strided(const Job<T>& job, const T* x, T* y) {
  const int64_t inner = job.args.inner;
  if (inner == 1) return transform_single(job, x, y);
  const int64_t in = job.x_length() * job.x_numbers(), out = job.y_length() * job.y_numbers();
  auto moved = [&](const T* from, int64_t from_ld, T* to, int64_t to_ld, int64_t count, int64_t numbers) {
    for (int64_t j = 0; j < count; ++j)
      for (int64_t c = 0; c < numbers; ++c)
        to[j * to_ld + c] = from[j * from_ld + c];
  };
  T* row = scratch<T>(4, static_cast<size_t>(in + out));
  moved(x, job.x_numbers() * inner, row, job.x_numbers(), job.x_length(), job.x_numbers());
  transform_single(job, static_cast<const T*>(row), row + in);
  moved(row + in, job.y_numbers(), y, job.y_numbers() * inner, job.y_length(), job.y_numbers());
}

template <class F>
void for_tasks(int64_t count, int64_t flops, F&& f) {
  if (count == 1) return f(0);  // so that it may use the workers itself
  runtime::parallel_for(
      count,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task)
          f(task);
      },
      std::max<int64_t>(1, kTaskFlops / flops));
}

template <class T>
void fft_of(const routines::RoutineCall& call, const FftArgs<>& args) {
  if (args.n == 0 || args.outer == 0 || args.inner == 0) return;
  Job<T> job{args, call.buffer<const T>(0), call.buffer<T>(1), routines::scale_of<T>(args.scale, args.n), args.n / 2};
  job.even_real = args.kind != FftKind::Complex && args.n % 2 == 0;
  const int64_t length = job.even_real ? job.half : args.n;
  job.plan = fft_plan<T>(length);
  if (job.even_real) job.folding = fold_roots<T>(job.half);

  const int64_t lanes = fft_steps<T>().lanes, inner = args.inner, flops = fft_flops(length);
  const int64_t x_row = job.x_length() * job.x_numbers(), y_row = job.y_length() * job.y_numbers();  // numbers
  const int64_t fitting = kColumnBytes / (length * int64_t{4 * sizeof(T)}) / lanes;  // vectors in a block
  const bool smooth = !job.plan->convolution;
  if (smooth && inner >= lanes && fitting > 0) {
    const int64_t each = std::min(fitting, kColumnVectors) * lanes, blocks = std::max<int64_t>(1, inner / each);
    for_tasks(args.outer * blocks, flops * each, [&](int64_t task) {
      const int64_t o = task / blocks, block = task % blocks, first = block * each,
                    last = block + 1 == blocks ? inner : first + each;
      const AxisColumns<T> io{job.x + o * x_row * inner + first * job.x_numbers(),
                              job.y + o * y_row * inner + first * job.y_numbers(), inner, last - first};
      if (args.kind == FftKind::Complex)
        transform_pairs(job, io);
      else
        transform_block(job, io);
    });
  } else if (smooth && inner == 1 && args.outer > 1 && length <= kShortRow) {
    for_tasks(pieces(args.outer, lanes), flops * lanes, [&](int64_t task) {
      const int64_t first = task * lanes, rows = std::min(lanes, args.outer - first);
      transform_block(job, RowsInLanes<T>{job.x + first * x_row, job.y + first * y_row, x_row, y_row, rows, lanes});
    });
  } else {
    const int64_t next_bytes = std::min(kNextBytes, x_row * int64_t{sizeof(T)});
    for_tasks(args.outer * inner, flops, [&](int64_t task) {
      const int64_t o = task / inner, i = task % inner;
      if (inner == 1 && o + 1 < args.outer)
        for (int64_t at = 0; at < next_bytes; at += 64)
          __builtin_prefetch(reinterpret_cast<const std::byte*>(job.x + (o + 1) * x_row) + at);
      transform_strided(job, job.x + o * x_row * inner + i * job.x_numbers(),
                        job.y + o * y_row * inner + i * job.y_numbers());
    });
  }
}

}  // namespace

void fft(const routines::RoutineCall& call, const FftArgs<>& args) {
  if (args.dtype == DType::F64)
    fft_of<double>(call, args);
  else
    fft_of<float>(call, args);
}

}  // namespace sheaf::kernels

// Fast attention, with the bits of the definition (routines/attention/args.h). A task is some rows of one head and
// loops over blocks of columns. For one panel of rows (at most two vectors) and one block at a time it computes scores,
// weights, and weights times v, all in L1.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/parts.h"
#include "kernels/simd/vector_builder.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::kAttentionStretch;

constexpr int64_t kTaskRows = 256;

// Streaming sums of the rows of a task. Arrays are indexed by row, y is [rows][padded]; `touched` by group of rows.
template <class T>
struct Sums {
  T *m, *l, *y;
  bool touched[kTaskRows / kAttentionRows];
  // The state of rows that see no column.
  void clear(int64_t begin, int64_t end, int64_t padded) {
    std::fill(m + begin, m + end, -std::numeric_limits<T>::infinity());
    std::fill(l + begin, l + end, T(0));
    std::fill(y + begin * padded, y + end * padded, T(0));
  }
};

template <class S, class T>
class Forward {
 public:
  Forward(const routines::RoutineCall& call, const AttentionArgs<>& args) : a_(args), call_(call) {
    const int out = a_.first_result();
    y_ = call_.buffer<S>(out);
    lse_ = call_.buffer<T>(out + 1);
    padded_ = round_up(a_.width, kern_.lanes);
  }

  void run() {
    if (a_.batch * a_.heads * a_.rows == 0) return;
    // Rows per task: halved while there are too few tasks.
    int64_t heads = a_.batch * a_.heads;
    task_rows_ = std::min(kTaskRows, round_up(a_.rows, kAttentionRows));
    while (task_rows_ > kAttentionRows && heads * pieces(a_.rows, task_rows_) < 4 * runtime::num_threads())
      task_rows_ /= 2;
    task_rows_ = round_up(task_rows_, kAttentionRows);
    int64_t parts = pieces(a_.rows, task_rows_), tasks = heads * parts;
    int64_t stretches = pieces(a_.columns, kAttentionStretch);
    if (tasks < 2 * runtime::num_threads() && stretches > 1 && a_.rows <= kAttentionRows)
      return run_by_stretch(tasks, stretches);
    // Fewer rows than a vector cost as much as a full vector; a single row is bound by reading k and v.
    int64_t flops =
        2 * (a_.rows == 1 ? 4 : std::clamp(a_.rows, kern_.lanes, task_rows_)) * a_.columns * (a_.depth + a_.width) + 1;
    runtime::parallel_for(
        tasks,
        [&](int64_t begin, int64_t end) {
          Workspace<T> memory(block_elements() + (stretches > 1 ? 2 : 1) * sums_elements());
          Block block = block_in(memory);
          Sums<T> total = sums_in(memory), part = stretches > 1 ? sums_in(memory) : total;
          for (int64_t t = begin; t < end; ++t) {
            Task task = task_at(t, parts);
            pack(task, block.q);
            stretch(task, block, 0, total);
            for (int64_t i = 1; i < stretches; ++i) {
              stretch(task, block, i, part);
              join(task, total, part);
            }
            finish(task, total);
          }
        },
        std::max<int64_t>(1, kTaskFlops / flops));
  }

 private:
  struct Task {
    int64_t b, h, first, rows;
    Head<S, T> head;
  };
  // Scratch arrays of a block of columns.
  struct Block {
    T *q, *s, *k, *v;
    Views<T> views;
  };

  // Includes padding: the last panel may extend past the rows.
  int64_t rows_memory() const { return task_rows_ + 2 * kern_.lanes; }
  int64_t block_elements() const {
    return rows_memory() * a_.depth + kAttentionBlock * (kAttentionRows + a_.depth + padded_) +
           5 * Workspace<T>::kAlign;
  }
  Block block_in(Workspace<T>& w) const {
    return {w.take(rows_memory() * a_.depth),
            w.take(kAttentionBlock * kAttentionRows),
            w.take(kAttentionBlock * a_.depth),
            w.take(kAttentionBlock * padded_),
            {}};
  }
  int64_t sums_elements() const { return rows_memory() * (2 + padded_) + 3 * Workspace<T>::kAlign; }
  template <int use>
  Sums<T> sums_in(Workspace<T, use>& w) const {
    return {w.take(rows_memory()), w.take(rows_memory()), w.take(rows_memory() * padded_), {}};
  }

  Task task_at(int64_t t, int64_t parts) const {
    int64_t head = t / parts, first = t % parts * task_rows_, b = head / a_.heads, h = head % a_.heads;
    return {b, h, first, std::min(task_rows_, a_.rows - first), Head<S, T>(a_, call_, a_.kMaskBuffer, b, h)};
  }

  // Packs the rows of q into panels; a single row is only scaled and padded to whole chains.
  void pack(const Task& t, T* q) const {
    if (a_.rows == 1) {
      t.head.q.copy(0, 1, a_.depth, round_up(a_.depth, routines::kAttentionChains), q);
      for (int64_t d = 0; d < a_.depth; ++d)
        q[d] *= t.head.scale;
      return;
    }
    for (int64_t i = 0; i < t.rows; i += kAttentionRows)
      panels(i, std::min(t.rows, i + kAttentionRows), kern_.lanes, [&](int64_t r, int64_t n, int64_t width) {
        t.head.q.transpose(t.first + r, n, a_.depth, width, t.head.scale, q + r * a_.depth);
      });
  }

  // A single query row against a long cache of keys: segments of columns are tasks too.
  void run_by_stretch(int64_t tasks, int64_t stretches) {
    Workspace<T, 1> shared(tasks * stretches * sums_elements());
    std::vector<Sums<T>> sums;
    for (int64_t i = 0; i < tasks * stretches; ++i)
      sums.push_back(sums_in(shared));
    runtime::parallel_for(
        tasks * stretches,
        [&](int64_t begin, int64_t end) {
          Workspace<T> memory(block_elements());
          Block block = block_in(memory);
          for (int64_t i = begin; i < end; ++i) {
            Task task = task_at(i / stretches, 1);
            pack(task, block.q);
            stretch(task, block, i % stretches, sums[i]);
          }
        },
        1);
    for (int64_t t = 0; t < tasks; ++t) {
      Task task = task_at(t, 1);
      for (int64_t i = 1; i < stretches; ++i)
        join(task, sums[t * stretches], sums[t * stretches + i]);
      finish(task, sums[t * stretches]);
    }
  }

  static constexpr T kHidden = -std::numeric_limits<T>::infinity();

  // Computes the sums over the blocks of one segment of columns.
  void stretch(const Task& t, Block& block, int64_t which, Sums<T>& sums) const {
    int64_t groups = pieces(t.rows, kAttentionRows);
    ColumnRange ranges[kTaskRows / kAttentionRows];
    int64_t begin = INT64_MAX, end = 0;
    std::fill(std::begin(sums.touched), std::end(sums.touched), false);
    for (int64_t g = 0; g < groups; ++g) {
      int64_t first = t.first + g * kAttentionRows, last = t.first + std::min(t.rows, (g + 1) * kAttentionRows) - 1;
      ColumnRange r = t.head.sight.range(first, last);
      ranges[g] = {std::max(r.begin, which * kAttentionStretch), std::min(r.end, (which + 1) * kAttentionStretch)};
      if (ranges[g].begin >= ranges[g].end) continue;
      begin = std::min(begin, ranges[g].begin);
      end = std::max(end, ranges[g].end);
    }
    if (a_.rows == 1) return row_alone(t, block, {begin, end}, sums);
    for (int64_t j = begin / kAttentionBlock * kAttentionBlock; j < end; j += kAttentionBlock) {
      int64_t from = std::max(j, begin), to = std::min(end, j + kAttentionBlock);
      Side<T> k = t.head.k.side(from, to - from, a_.depth, a_.depth, groups, block.k),
              v = t.head.v.side(from, to - from, a_.width, padded_, groups, block.v);
      for (int64_t g = 0; g < groups; ++g) {
        int64_t c0 = std::max(from, ranges[g].begin), c1 = std::min(to, ranges[g].end);
        if (c0 >= c1) continue;
        int64_t first = g * kAttentionRows, last = std::min(t.rows, first + kAttentionRows);
        auto shown = t.head.shown(t.first + first, t.first + last - 1, c0, c1);
        if (shown == Head<S, T>::Shown::Nothing) continue;
        bool first_block = !std::exchange(sums.touched[g], true);
        panels(first, last, kern_.lanes, [&](int64_t r, int64_t n, int64_t width) {
          int64_t columns = c1 - c0;
          T factor[kAttentionRows];
          kern_.rows_times(columns, width, a_.depth, k.data + (c0 - from) * k.row, k.row, block.q + r * a_.depth, width,
                           block.s, width, false);
          if (a_.mask == MaskKind::Added) t.head.add_mask(t.first + r, n, c0, c1, block.s, width);
          View<T>& view = block.views.at(r);
          view.look(t.head.sight, t.first + r, n, c0, c1);
          view.hide(kHidden, block.s, width, width);
          if (shown == Head<S, T>::Shown::Some) t.head.hide_masked(t.first + r, n, c0, c1, kHidden, block.s, width);
          kern_.weigh(columns, block.s, width, width, first_block, sums.m + r, sums.l + r, factor);
          kern_.columns_times(n, padded_, columns, block.s, width, v.data + (c0 - from) * v.row, v.row,
                              sums.y + r * padded_, padded_, first_block ? Start::Zero : Start::Scaled, factor);
        });
      }
    }
    for (int64_t g = 0; g < groups; ++g)
      if (!sums.touched[g]) sums.clear(g * kAttentionRows, std::min(t.rows, (g + 1) * kAttentionRows), padded_);
  }

  // A segment of a single row: reads all of k, then all of v, so that memory is read sequentially; in place if their
  // rows are contiguous.
  void row_alone(const Task& t, Block& block, ColumnRange range, Sums<T>& sums) const {
    using Shown = typename Head<S, T>::Shown;
    constexpr int64_t kBlocks = kAttentionStretch / kAttentionBlock;
    static_assert(kBlocks <= kAttentionRows, "scores of a stretch must fit where those of a block of rows do");
    struct {
      int64_t begin, end;
      T* s;
    } blocks[kBlocks];
    auto with_rows = [&](const MatrixRows<S, T>& rows, int64_t begin, int64_t end, int64_t width, int64_t padded,
                         T* copied, auto&& f) {
      const ByElement<T, RowReaders>& readers = kern_.row_alone.readers;
      if (rows.element == 1 && width == padded) return f(readers.of(rows.data), rows.data + begin * rows.row, rows.row);
      rows.copy(begin, end - begin, width, padded, copied);
      f(readers.same, static_cast<const T*>(copied), padded);
    };
    int num_blocks = 0;
    for (int64_t j = range.begin / kAttentionBlock * kAttentionBlock; j < range.end; j += kAttentionBlock) {
      int64_t begin = std::max(j, range.begin), end = std::min(range.end, j + kAttentionBlock);
      Shown shown = t.head.shown(0, 0, begin, end);
      if (shown == Shown::Nothing) continue;
      T* s = block.s + num_blocks * kAttentionBlock;
      with_rows(t.head.k, begin, end, a_.depth, a_.depth, block.k,
                [&](auto& kern, auto* k, int64_t row) { kern.scores(end - begin, a_.depth, block.q, k, row, s); });
      if (a_.mask == MaskKind::Added) t.head.add_mask(0, 1, begin, end, s, 1);
      if (shown == Shown::Some) t.head.hide_masked(0, 1, begin, end, kHidden, s, 1);
      blocks[num_blocks++] = {begin, end, s};
    }
    for (int i = 0; i < num_blocks; ++i) {
      auto [begin, end, s] = blocks[i];
      T factor = 0;
      kern_.row_alone.weigh(end - begin, s, i == 0, sums.m, sums.l, &factor);
      with_rows(t.head.v, begin, end, a_.width, padded_, block.v, [&](auto& kern, auto* v, int64_t row) {
        kern.add_rows(end - begin, padded_, s, v, row, sums.y, i == 0, factor);
      });
    }
    sums.touched[0] = num_blocks > 0;
    if (num_blocks == 0) sums.clear(0, 1, padded_);
  }

  void join(const Task& t, Sums<T>& total, const Sums<T>& part) const {
    T first[kAttentionRows], second[kAttentionRows];
    for (int64_t g = 0; g * kAttentionRows < t.rows; ++g) {
      if (!part.touched[g]) continue;
      int64_t r = g * kAttentionRows, n = std::min(kAttentionRows, t.rows - r), elements = n * padded_;
      if (!total.touched[g]) {
        std::copy(part.m + r, part.m + r + n, total.m + r);
        std::copy(part.l + r, part.l + r + n, total.l + r);
        std::copy(part.y + r * padded_, part.y + r * padded_ + elements, total.y + r * padded_);
        total.touched[g] = true;
        continue;
      }
      kern_.join(n, total.m + r, total.l + r, part.m + r, part.l + r, first, second);
      for (int64_t i = 0; i < n; ++i) {
        T *to = total.y + (r + i) * padded_, a = first[i], b = second[i];
        const T* from = part.y + (r + i) * padded_;
        for (int64_t e = 0; e < a_.width; ++e)
          to[e] = scalar::apply<scalar::Op::Fma>(from[e], b, to[e] * a);
      }
    }
  }

  void finish(const Task& t, const Sums<T>& sums) const {
    T lse[kTaskRows + VectorBuilder<T>::kLanes], inverse[kTaskRows + VectorBuilder<T>::kLanes];
    kern_.conclude(t.rows, sums.m, sums.l, lse, inverse);
    int64_t at = (t.b * a_.rows + t.first) * a_.heads + t.h;
    store_scaled(t.rows, a_.width, sums.y, padded_, inverse, 1, y_ + at * a_.width, a_.heads * a_.width);
    for (int64_t i = 0; i < t.rows; ++i)
      lse_[at + i * a_.heads] = lse[i];
  }

  const AttentionArgs<>& a_;
  const routines::RoutineCall& call_;
  const AttentionKernels<T>& kern_ = attention_kernels<T>();
  int64_t padded_, task_rows_ = kTaskRows;
  S* y_;
  T* lse_;
};

}  // namespace

void attention(const routines::RoutineCall& call, const AttentionArgs<>& args) {
  if (routines::sums_by_tiles(call.arithmetic, args)) return attention_by_tiles(call, args);
  run_attention<Forward>(call, args);
}

}  // namespace sheaf::kernels

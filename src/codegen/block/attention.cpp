// Attention and its reverse, fast, with the bits of loop/attention.h's definition.
//
// Forward: a task is some rows of one head; blocks of columns stream past them. One panel of rows (at most two vectors) and
// one block at a time: scores, weights, weights times v, all in the first-level cache. Reverse: a task is a key head; blocks
// of columns are the outer loop, so that dk and dv of a block stay in the cache while all rows pass, and dq is the task's
// own. With fewer key heads than threads, dq and dk, dv are separate tasks over parts of the rows and of the columns: more
// work, more threads, the same bits, as every sum runs in the same order either way.
#include "codegen/block/attention.h"

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/block/simd.h"
#include "codegen/block/tasks.h"
#include "codegen/block/vector_builder.h"
#include "loop/attention.h"
#include "runtime/thread_pool.h"
#include "support/error.h"

namespace sheaf::codegen::block {
namespace {

using loop::AttentionArgs;
using loop::ColumnRange;
using loop::kAttentionBlock;
using loop::kAttentionRows;
using loop::kAttentionStretch;
using loop::MaskKind;
using loop::scalar::BFloat16;
using loop::scalar::convert;
using loop::scalar::Float16;

// What a sum over a block of columns begins with.
enum class Start { Zero, Before, Scaled };

template <class T>
struct Kernels {
  int64_t lanes;
  void (*rows_times)(int64_t n, int64_t width, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out, int64_t ldo, bool add);
  void (*columns_times)(int64_t n, int64_t width, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out, int64_t ldo, Start start, const T* factor);
  void (*weigh)(int64_t n, T* s, int64_t width, bool first, T* m, T* l, T* factor);
  void (*join)(int64_t n, T* m, T* l, const T* m2, const T* l2, T* first, T* second);
  void (*reverse)(int64_t n, T* s, T* dp, int64_t ld, int64_t width, const T* lse, const T* delta);
  void (*turn)(int64_t n, int64_t width, const T* from, int64_t row, T factor, T* to, int64_t ld);
  void (*hide)(int64_t n, int64_t width, const T* first, const T* last, int64_t seen, int64_t unseen, T value, T* s, int64_t ld);
  void (*scale_rows)(int64_t n, int64_t width, const T* from, int64_t ld, const T* factor, int64_t step, T* to, int64_t ldo);
  void (*conclude)(int64_t n, const T* m, const T* l, T* lse, T* inverse);
};

#define SHEAF_KERNELS "codegen/block/attention_kernels.h"
#include "codegen/block/instruction_sets.h"

constexpr int64_t kTaskRows = 64;

// Arrays in memory that the thread keeps; `use` tells apart what is alive at the same time.
template <class T, int use = 0>
class Workspace {
 public:
  static constexpr int64_t kAlign = 64 / sizeof(T);
  explicit Workspace(int64_t elements) {
    static thread_local std::unique_ptr<std::byte[]> memory;
    static thread_local size_t capacity = 0;
    size_t bytes = elements * sizeof(T) + 64;
    if (bytes > capacity) {
      memory.reset();
      memory.reset(new std::byte[bytes]);
      capacity = bytes;
    }
    next_ = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64);
  }
  T* take(int64_t elements) { return std::exchange(next_, next_ + round_up(elements, kAlign)); }

 private:
  T* next_;
};

// Rows of a matrix in memory, and as T with contiguous rows of at least `padded` elements: in place, or by copying.
template <class S, class T>
struct Rows {
  const S* data;
  int64_t row, element;  // strides
  bool in_place(int64_t width, int64_t padded) const { return std::is_same_v<S, T> && element == 1 && width == padded; }
  void copy(int64_t begin, int64_t n, int64_t width, int64_t padded, T* to) const {
    for (int64_t i = 0; i < n; ++i, to += padded) {
      const S* from = data + (begin + i) * row;
      if (element == 1)
        for (int64_t e = 0; e < width; ++e) to[e] = convert<T>(from[e]);
      else
        for (int64_t e = 0; e < width; ++e) to[e] = convert<T>(from[e * element]);
      std::fill(to + width, to + padded, T(0));
    }
  }
  // `n` rows from `begin` side by side: to[e][rows], missing rows zero.
  void transpose(int64_t begin, int64_t n, int64_t width, int64_t rows, T factor, T* to) const {
    if constexpr (std::is_same_v<S, T>)
      if (element == 1) return kernels<T>().turn(n, width, data + begin * row, row, factor, to, rows);
    for (int64_t e = 0; e < width; ++e)
      for (int64_t i = 0; i < rows; ++i) to[e * rows + i] = i < n ? convert<T>(data[(begin + i) * row + e * element]) * factor : T(0);
  }
};

// to[i][e] = factor[i step] from[i][e], rows `ld` and `ldo` apart.
template <class T, class S>
void store_scaled(int64_t n, int64_t width, const T* __restrict from, int64_t ld, const T* factor, int64_t step, S* __restrict to, int64_t ldo) {
  if constexpr (std::is_same_v<T, S>) return kernels<T>().scale_rows(n, width, from, ld, factor, step, to, ldo);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t e = 0; e < width; ++e) to[i * ldo + e] = convert<S>(from[i * ld + e] * factor[i * step]);
}

// What rows i, … (n of them) see by position of columns [begin, end), counted from `begin`. Kept from one head to the next, for which it is mostly the same.
template <class T>
class View {
 public:
  void look(const loop::Sight& sight, int64_t i, int64_t n, int64_t begin, int64_t end) {
    Place place{sight, i, n, begin, end};
    if (place_ == place) return;
    place_ = place;
    seen_ = 0, unseen_ = kAttentionBlock;
    for (int64_t r = 0; r < kAttentionRows; ++r) {
      ColumnRange range = r < n ? sight.range(i + r, i + r) : ColumnRange{begin, begin + kAttentionBlock};
      int64_t first = std::clamp<int64_t>(range.begin - begin, 0, kAttentionBlock), last = std::clamp<int64_t>(range.end - begin, 0, kAttentionBlock);
      first_[r] = static_cast<T>(first), last_[r] = static_cast<T>(last);
      seen_ = std::max(seen_, first), unseen_ = std::min(unseen_, last);
    }
  }
  // Puts `value` where a row does not see a column; rows are neighbours in s, columns `ld` apart.
  void hide(T value, T* s, int64_t ld) const {
    int64_t columns = place_->end - place_->begin;
    if (seen_ == 0 && unseen_ >= columns) return;
    const Kernels<T>& kern = kernels<T>();
    kern.hide(columns, round_up(place_->n, kern.lanes), first_, last_, seen_, unseen_, value, s, ld);
  }

 private:
  struct Place {
    loop::Sight sight;
    int64_t i, n, begin, end;
    bool operator==(const Place&) const = default;
  };
  std::optional<Place> place_;
  int64_t seen_ = 0, unseen_ = 0;  // from, and to, where all see everything
  T first_[kAttentionRows], last_[kAttentionRows];
};

// For the panels of a group of rows.
template <class T>
struct Views {
  View<T> each[kAttentionRows / 4];
  View<T>& at(int64_t row) { return each[row % kAttentionRows / 4]; }
};

// One head of one element of the batch.
template <class S, class T>
struct Head {
  const AttentionArgs& a;
  T scale;
  loop::Sight sight;
  Rows<S, T> q, k, v;
  const std::byte* mask;  // at row 0, column 0

  Head(const AttentionArgs& a, std::span<std::byte* const> buffers, int64_t b, int64_t h)
      : a(a), scale(reinterpret_cast<const T*>(buffers[3])[b * a.scale]),
        sight(a, reinterpret_cast<const int64_t*>(buffers[4])[b * a.offset], reinterpret_cast<const int64_t*>(buffers[5])[b * a.window]) {
    int64_t g = h / a.heads_per_group();
    auto rows = [&](int buffer, const int64_t* strides, int64_t head) {
      return Rows<S, T>{reinterpret_cast<const S*>(buffers[buffer]) + b * strides[0] + head * strides[1], strides[2], strides[3]};
    };
    q = rows(0, a.q, h);
    k = rows(1, a.k, g);
    v = rows(2, a.v, g);
    mask = nullptr;
    if (a.mask != MaskKind::None)
      mask = buffers[a.lse ? 9 : 6] + (b * a.mask_strides[0] + h * a.mask_strides[1]) * static_cast<int64_t>(a.mask == MaskKind::Bool ? 1 : sizeof(S));
  }

  const bool* shown(int64_t i) const { return reinterpret_cast<const bool*>(mask) + i * a.mask_strides[2]; }

  // What a Bool mask shows rows [first, last] of columns [begin, end): nothing, everything or some.
  enum class Shown { Nothing, Some, Everything };
  Shown shown(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    if (a.mask != MaskKind::Bool) return Shown::Everything;
    bool any = false, all = true;
    int64_t step = a.mask_strides[3];
    for (int64_t i = first; i <= last; ++i) {
      const bool* m = shown(i);
      if (step == 1)
        for (int64_t j = begin; j < end; ++j) any |= m[j], all &= m[j];
      else
        for (int64_t j = begin; j < end; ++j) any |= m[j * step], all &= m[j * step];
    }
    return all ? Shown::Everything : any ? Shown::Some : Shown::Nothing;
  }

  // Puts `value` where a Bool mask hides columns [begin, end) from rows i, … (n of them, neighbours in s).
  void hide_masked(int64_t i, int64_t n, int64_t begin, int64_t end, T value, T* s, int64_t ld) const {
    for (int64_t r = 0; r < n; ++r) {
      const bool* m = shown(i + r);
      for (int64_t j = begin; j < end; ++j)
        if (!m[j * a.mask_strides[3]]) s[(j - begin) * ld + r] = value;
    }
  }
  void add_mask(int64_t i, int64_t n, int64_t begin, int64_t end, T* s, int64_t ld) const {
    for (int64_t r = 0; r < n; ++r) {
      const S* m = reinterpret_cast<const S*>(mask) + (i + r) * a.mask_strides[2];
      for (int64_t j = begin; j < end; ++j) s[(j - begin) * ld + r] += convert<T>(m[j * a.mask_strides[3]]);
    }
  }
};

// Calls f(first row, rows, width) for the panels of rows [begin, end), a group or part of one.
template <class F>
inline void panels(int64_t begin, int64_t end, int64_t lanes, F&& f) {
  for (int64_t i = begin; i < end;) {
    int64_t width = end - i > lanes ? 2 * lanes : lanes, n = std::min(width, end - i);
    f(i, n, width);
    i += n;
  }
}

// Streaming sums of the rows of a task, by groups of rows. Arrays by row, y [rows][padded].
template <class T>
struct Sums {
  T *m, *l, *y;
  bool touched[kTaskRows / kAttentionRows];
  // Of rows that saw nothing.
  void clear(int64_t begin, int64_t end, int64_t padded) {
    std::fill(m + begin, m + end, -std::numeric_limits<T>::infinity());
    std::fill(l + begin, l + end, T(0));
    std::fill(y + begin * padded, y + end * padded, T(0));
  }
};

template <class S, class T>
class Forward {
 public:
  Forward(const loop::CallArgs& c) : a_(c.args), buffers_(c.buffers) {
    int out = a_.mask == MaskKind::None ? 6 : 7;
    y_ = reinterpret_cast<S*>(buffers_[out]);
    lse_ = reinterpret_cast<T*>(buffers_[out + 1]);
    padded_ = round_up(a_.width, kern_.lanes);
  }

  void run() {
    if (a_.batch * a_.heads * a_.rows == 0) return;
    // Rows per task: fewer when there would be too few tasks.
    int64_t heads = a_.batch * a_.heads;
    task_rows_ = std::min(kTaskRows, round_up(a_.rows, kAttentionRows));
    while (task_rows_ > kAttentionRows && heads * pieces(a_.rows, task_rows_) < 4 * runtime::num_threads()) task_rows_ /= 2;
    task_rows_ = round_up(task_rows_, kAttentionRows);
    int64_t parts = pieces(a_.rows, task_rows_), tasks = heads * parts;
    int64_t stretches = pieces(a_.columns, kAttentionStretch);
    if (tasks < 2 * runtime::num_threads() && stretches > 1 && a_.rows <= kAttentionRows) return run_by_stretch(tasks, stretches);
    // A row takes the time of a vector of rows.
    int64_t flops = 2 * std::clamp(a_.rows, kern_.lanes, task_rows_) * a_.columns * (a_.depth + a_.width) + 1;
    runtime::parallel_for(tasks, [&](int64_t begin, int64_t end) {
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
    }, std::max<int64_t>(1, kTaskFlops / flops));
  }

 private:
  struct Task {
    int64_t b, h, first, rows;
    Head<S, T> head;
  };
  // What a block of columns is computed in.
  struct Block {
    T *q, *s, *k, *v;
    Views<T> views;
  };

  // A panel may reach beyond the rows.
  int64_t rows_memory() const { return task_rows_ + 2 * kern_.lanes; }
  int64_t block_elements() const { return rows_memory() * a_.depth + kAttentionBlock * (kAttentionRows + a_.depth + padded_) + 5 * Workspace<T>::kAlign; }
  Block block_in(Workspace<T>& w) const {
    return {w.take(rows_memory() * a_.depth), w.take(kAttentionBlock * kAttentionRows), w.take(kAttentionBlock * a_.depth), w.take(kAttentionBlock * padded_), {}};
  }
  int64_t sums_elements() const { return rows_memory() * (2 + padded_) + 3 * Workspace<T>::kAlign; }
  template <int use>
  Sums<T> sums_in(Workspace<T, use>& w) const { return {w.take(rows_memory()), w.take(rows_memory()), w.take(rows_memory() * padded_), {}}; }

  Task task_at(int64_t t, int64_t parts) const {
    int64_t head = t / parts, first = t % parts * task_rows_, b = head / a_.heads, h = head % a_.heads;
    return {b, h, first, std::min(task_rows_, a_.rows - first), Head<S, T>(a_, buffers_, b, h)};
  }

  void pack(const Task& t, T* q) const {
    for (int64_t i = 0; i < t.rows; i += kAttentionRows)
      panels(i, std::min(t.rows, i + kAttentionRows), kern_.lanes, [&](int64_t r, int64_t n, int64_t width) {
        t.head.q.transpose(t.first + r, n, a_.depth, width, t.head.scale, q + r * a_.depth);
      });
  }

  // One query against a long cache: stretches are tasks too.
  void run_by_stretch(int64_t tasks, int64_t stretches) {
    Workspace<T, 1> shared(tasks * stretches * sums_elements());
    std::vector<Sums<T>> sums;
    for (int64_t i = 0; i < tasks * stretches; ++i) sums.push_back(sums_in(shared));
    runtime::parallel_for(tasks * stretches, [&](int64_t begin, int64_t end) {
      Workspace<T> memory(block_elements());
      Block block = block_in(memory);
      for (int64_t i = begin; i < end; ++i) {
        Task task = task_at(i / stretches, 1);
        pack(task, block.q);
        stretch(task, block, i % stretches, sums[i]);
      }
    }, 1);
    for (int64_t t = 0; t < tasks; ++t) {
      Task task = task_at(t, 1);
      for (int64_t i = 1; i < stretches; ++i) join(task, sums[t * stretches], sums[t * stretches + i]);
      finish(task, sums[t * stretches]);
    }
  }

  // The sums over the blocks of one stretch of columns.
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
    bool k_in_place = t.head.k.in_place(a_.depth, a_.depth), v_in_place = t.head.v.in_place(a_.width, padded_);
    for (int64_t j = begin / kAttentionBlock * kAttentionBlock; j < end; j += kAttentionBlock) {
      int64_t from = std::max(j, begin), to = std::min(end, j + kAttentionBlock);
      if (!k_in_place) t.head.k.copy(from, to - from, a_.depth, a_.depth, block.k);
      if (!v_in_place) t.head.v.copy(from, to - from, a_.width, padded_, block.v);
      const T* k = k_in_place ? reinterpret_cast<const T*>(t.head.k.data) + from * t.head.k.row : block.k;
      const T* v = v_in_place ? reinterpret_cast<const T*>(t.head.v.data) + from * t.head.v.row : block.v;
      int64_t k_row = k_in_place ? t.head.k.row : a_.depth, v_row = v_in_place ? t.head.v.row : padded_;
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
          kern_.rows_times(columns, width, a_.depth, k + (c0 - from) * k_row, k_row, block.q + r * a_.depth, width, block.s, width, false);
          if (a_.mask == MaskKind::Added) t.head.add_mask(t.first + r, n, c0, c1, block.s, width);
          constexpr T kHidden = -std::numeric_limits<T>::infinity();
          View<T>& view = block.views.at(r);
          view.look(t.head.sight, t.first + r, n, c0, c1);
          view.hide(kHidden, block.s, width);
          if (shown == Head<S, T>::Shown::Some) t.head.hide_masked(t.first + r, n, c0, c1, kHidden, block.s, width);
          kern_.weigh(columns, block.s, width, first_block, sums.m + r, sums.l + r, factor);
          kern_.columns_times(n, padded_, columns, block.s, width, v + (c0 - from) * v_row, v_row, sums.y + r * padded_, padded_,
                              first_block ? Start::Zero : Start::Scaled, factor);
        });
      }
    }
    for (int64_t g = 0; g < groups; ++g)
      if (!sums.touched[g]) sums.clear(g * kAttentionRows, std::min(t.rows, (g + 1) * kAttentionRows), padded_);
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
        for (int64_t e = 0; e < a_.width; ++e) to[e] = loop::scalar::apply<loop::Op::Fma>(from[e], b, to[e] * a);
      }
    }
  }

  void finish(const Task& t, const Sums<T>& sums) const {
    T lse[kTaskRows + VectorBuilder<T>::kLanes], inverse[kTaskRows + VectorBuilder<T>::kLanes];
    kern_.conclude(t.rows, sums.m, sums.l, lse, inverse);
    int64_t at = (t.b * a_.rows + t.first) * a_.heads + t.h;
    store_scaled(t.rows, a_.width, sums.y, padded_, inverse, 1, y_ + at * a_.width, a_.heads * a_.width);
    for (int64_t i = 0; i < t.rows; ++i) lse_[at + i * a_.heads] = lse[i];
  }

  AttentionArgs a_;
  std::span<std::byte* const> buffers_;
  const Kernels<T>& kern_ = kernels<T>();
  int64_t padded_, task_rows_ = kTaskRows;
  S* y_;
  T* lse_;
};

template <class S, class T>
class Reverse {
 public:
  Reverse(const loop::CallArgs& c) : a_(c.args), buffers_(c.buffers) {
    lse_ = reinterpret_cast<const T*>(buffers_[6]);
    delta_ = reinterpret_cast<const T*>(buffers_[7]);
    int out = a_.mask == MaskKind::None ? 9 : 10;
    dq_ = reinterpret_cast<S*>(buffers_[out]);
    dk_ = reinterpret_cast<S*>(buffers_[out + 1]);
    dv_ = reinterpret_cast<S*>(buffers_[out + 2]);
    depth_ = round_up(a_.depth, kern_.lanes);
    width_ = round_up(a_.width, kern_.lanes);
    row_groups_ = pieces(a_.rows, kAttentionRows);
    blocks_ = pieces(a_.columns, kAttentionBlock);
  }

  void run() {
    int64_t heads = a_.batch * a_.groups, row_groups = row_groups_ * a_.heads_per_group();
    int64_t flops = 2 * a_.rows * a_.heads_per_group() * a_.columns * (3 * a_.depth + 2 * a_.width) + 1;
    int64_t threads = runtime::num_threads();
    if (2 * heads > threads || flops < 4 * kTaskFlops) {
      runtime::parallel_for(heads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) part(i, {0, row_groups, 0, blocks_, true, true});
      }, std::max<int64_t>(1, kTaskFlops / flops));
      return;
    }
    int64_t parts = 2 * threads;
    runtime::parallel_for(heads * 2 * parts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t p = i % (2 * parts) / 2;
        if (i % 2) part(i / (2 * parts), {0, row_groups, blocks_ * p / parts, blocks_ * (p + 1) / parts, false, true});
        else part(i / (2 * parts), {row_groups * p / parts, row_groups * (p + 1) / parts, 0, blocks_, true, false});
      }
    }, 1);
  }

 private:
  // Groups of rows (of all query heads of the key head, one after the other) and blocks of columns.
  struct Part {
    int64_t row_begin, row_end, block_begin, block_end;
    bool want_q, want_kv;
  };

  // Rows as the right-hand side of a product: in place or copied.
  struct Side {
    const T* data;
    int64_t row;
  };
  static Side side(const Rows<S, T>& rows, int64_t begin, int64_t n, int64_t width, int64_t padded, T* copy) {
    if (rows.in_place(width, padded)) return {reinterpret_cast<const T*>(rows.data) + begin * rows.row, rows.row};
    rows.copy(begin, n, width, padded, copy);
    return {copy, padded};
  }

  // A group of rows of one head.
  struct Group {
    const Head<S, T>* head;
    int64_t first, count, to;  // `to`: its first row in dq
    ColumnRange range;
    bool all;                  // some weight is NaN, and so are all
    Side q, dy;
    T *qt, *dyt, *lse, *delta, *dq;
  };

  void part(int64_t task, const Part& p) const {
    constexpr int64_t kArea = kAttentionBlock * kAttentionRows;
    int64_t b = task / a_.groups, g = task % a_.groups, per_group = a_.heads_per_group();
    int64_t count = p.row_end - p.row_begin, rows = count * kAttentionRows;
    static thread_local std::vector<Head<S, T>> heads;
    static thread_local std::vector<Group> groups;
    static thread_local Views<T> views;
    heads.clear();
    groups.resize(count);
    for (int64_t h = 0; h < per_group; ++h) heads.emplace_back(a_, buffers_, b, g * per_group + h);
    Workspace<T> memory(rows * (a_.depth + 2 * depth_ + a_.width + width_ + 2) + 2 * kArea + kAttentionBlock * (2 * depth_ + a_.width + width_) + 13 * Workspace<T>::kAlign);
    T *qt = memory.take(rows * a_.depth), *q = memory.take(rows * depth_), *dq = memory.take(rows * depth_);
    T *dyt = memory.take(rows * a_.width), *dy = memory.take(rows * width_), *lse = memory.take(rows), *delta = memory.take(rows);
    T *s = memory.take(kArea), *ds = memory.take(kArea), *k = memory.take(kAttentionBlock * depth_), *v = memory.take(kAttentionBlock * a_.width);
    T *dk = memory.take(kAttentionBlock * depth_), *dv = memory.take(kAttentionBlock * width_);
    for (int64_t i = 0; i < count; ++i) {
      int64_t which = (p.row_begin + i) / row_groups_, first = (p.row_begin + i) % row_groups_ * kAttentionRows, h = g * per_group + which, at = i * kAttentionRows;
      int64_t n = std::min(kAttentionRows, a_.rows - first);
      const Head<S, T>& head = heads[which];
      Rows<S, T> dys{reinterpret_cast<const S*>(buffers_[8]) + b * a_.dy[0] + h * a_.dy[2], a_.dy[1], a_.dy[3]};
      Group group{&head, first, n, (b * a_.rows + first) * a_.heads + h, head.sight.range(first, first + n - 1), false, {}, {},
                  qt + at * a_.depth, dyt + at * a_.width, lse + at, delta + at, dq + at * depth_};
      panels(0, n, kern_.lanes, [&](int64_t r, int64_t m, int64_t width) {
        head.q.transpose(first + r, m, a_.depth, width, head.scale, group.qt + r * a_.depth);
        dys.transpose(first + r, m, a_.width, width, T(1), group.dyt + r * a_.width);
      });
      if (p.want_kv) {
        group.q = side(head.q, first, n, a_.depth, depth_, q + at * depth_);
        group.dy = side(dys, first, n, a_.width, width_, dy + at * width_);
      }
      for (int64_t r = 0; r < n; ++r) {
        group.lse[r] = lse_[b * a_.lse[0] + (first + r) * a_.lse[1] + h * a_.lse[2]];
        group.delta[r] = delta_[b * a_.delta[0] + (first + r) * a_.delta[1] + h * a_.delta[2]];
        group.all |= !std::isfinite(group.lse[r]);
      }
      std::fill(group.lse + n, group.lse + kAttentionRows, T(0));
      std::fill(group.delta + n, group.delta + kAttentionRows, T(0));
      if (group.all) group.range = {0, a_.columns};
      groups[i] = group;
    }
    if (p.want_q) std::fill(dq, dq + rows * depth_, T(0));
    for (int64_t j = p.block_begin * kAttentionBlock; j < std::min(a_.columns, p.block_end * kAttentionBlock); j += kAttentionBlock) {
      int64_t end = std::min(a_.columns, j + kAttentionBlock);
      Side ks = side(heads[0].k, j, end - j, a_.depth, depth_, k), vs = side(heads[0].v, j, end - j, a_.width, a_.width, v);
      if (p.want_kv) {
        std::fill(dk, dk + (end - j) * depth_, T(0));
        std::fill(dv, dv + (end - j) * width_, T(0));
      }
      for (int64_t i = 0; i < count; ++i) {
        const Group& group = groups[i];
        const Head<S, T>& head = *group.head;
        int64_t c0 = std::max(j, group.range.begin), c1 = std::min(end, group.range.end), columns = c1 - c0;
        if (c0 >= c1) continue;
        auto shown = head.shown(group.first, group.first + group.count - 1, c0, c1);
        if (shown == Head<S, T>::Shown::Nothing && !group.all) continue;
        bool masked = shown != Head<S, T>::Shown::Everything;
        const T *k_rows = ks.data + (c0 - j) * ks.row, *v_rows = vs.data + (c0 - j) * vs.row;
        panels(0, group.count, kern_.lanes, [&](int64_t r, int64_t n, int64_t width) {
          kern_.rows_times(columns, width, a_.depth, k_rows, ks.row, group.qt + r * a_.depth, width, s + r, kAttentionRows, false);
          kern_.rows_times(columns, width, a_.width, v_rows, vs.row, group.dyt + r * a_.width, width, ds + r, kAttentionRows, false);
          if (a_.mask == MaskKind::Added) head.add_mask(group.first + r, n, c0, c1, s + r, kAttentionRows);
          View<T>& view = views.at(r);
          view.look(head.sight, group.first + r, n, c0, c1);
          auto hide = [&](T value, T* from) {
            view.hide(value, from, kAttentionRows);
            if (masked) head.hide_masked(group.first + r, n, c0, c1, value, from, kAttentionRows);
          };
          hide(-std::numeric_limits<T>::infinity(), s + r);
          kern_.reverse(columns, s + r, ds + r, kAttentionRows, width, group.lse + r, group.delta + r);
          hide(T(0), ds + r);
        });
        if (p.want_q) kern_.columns_times(group.count, depth_, columns, ds, kAttentionRows, k_rows, ks.row, group.dq, depth_, Start::Before, nullptr);
        if (!p.want_kv) continue;
        kern_.rows_times(columns, depth_, group.count, ds, kAttentionRows, group.q.data, group.q.row, dk + (c0 - j) * depth_, depth_, true);
        kern_.rows_times(columns, width_, group.count, s, kAttentionRows, group.dy.data, group.dy.row, dv + (c0 - j) * width_, width_, true);
      }
      if (p.want_kv) {
        const int64_t to = (b * a_.columns + j) * a_.groups + g;
        const T one = 1;
        store_scaled(end - j, a_.depth, dk, depth_, &heads[0].scale, 0, dk_ + to * a_.depth, a_.groups * a_.depth);
        store_scaled(end - j, a_.width, dv, width_, &one, 0, dv_ + to * a_.width, a_.groups * a_.width);
      }
    }
    if (p.want_q)
      for (const Group& group : groups) store_scaled(group.count, a_.depth, group.dq, depth_, &group.head->scale, 0, dq_ + group.to * a_.depth, a_.heads * a_.depth);
  }

  AttentionArgs a_;
  std::span<std::byte* const> buffers_;
  const Kernels<T>& kern_ = kernels<T>();
  int64_t depth_, width_, row_groups_, blocks_;
  const T *lse_, *delta_;
  S *dq_, *dk_, *dv_;
};

template <template <class, class> class Work>
void run(const loop::CallArgs& c) {
  switch (static_cast<DType>(c.args[0])) {
    case DType::F32: return Work<float, float>(c).run();
    case DType::F64: return Work<double, double>(c).run();
    case DType::BF16: return Work<BFloat16, float>(c).run();
    case DType::F16: return Work<Float16, float>(c).run();
    default: INVARIANT(false, "attention of dtype " << c.args[0]);
  }
}

}  // namespace

void attention(const loop::CallArgs& c) { run<Forward>(c); }
void attention_vjp(const loop::CallArgs& c) { run<Reverse>(c); }

}  // namespace sheaf::codegen::block

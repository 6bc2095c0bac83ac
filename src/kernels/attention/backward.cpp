// The fast gradient of attention, with the bits of the definition (routines/attention/args.h). A task is a key head;
// blocks of columns are the outer loop, so that dk and dv of a block stay in the cache during the loop over all rows;
// dq is private to the task. With fewer key heads than threads, dq and (dk, dv) are separate tasks over parts of the
// rows and of the columns: more work on more threads, with equal bits, as every sum has the same order either way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/parts.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

template <class S, class T>
class Reverse {
 public:
  Reverse(const routines::RoutineCall& call, const AttentionVjpArgs<>& args) : a_(args), call_(call) {
    lse_ = call_.buffer<const T>(6);
    delta_ = call_.buffer<const T>(7);
    const int out = a_.first_result(a_.kMaskBuffer);
    dq_ = call_.buffer<S>(out);
    dk_ = call_.buffer<S>(out + 1);
    dv_ = call_.buffer<S>(out + 2);
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
      runtime::parallel_for(
          heads,
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              part(i, {0, row_groups, 0, blocks_, true, true});
          },
          std::max<int64_t>(1, kTaskFlops / flops));
      return;
    }
    int64_t parts = 2 * threads;
    runtime::parallel_for(
        heads * 2 * parts,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            int64_t p = i % (2 * parts) / 2;
            if (i % 2)
              part(i / (2 * parts), {0, row_groups, blocks_ * p / parts, blocks_ * (p + 1) / parts, false, true});
            else
              part(i / (2 * parts), {row_groups * p / parts, row_groups * (p + 1) / parts, 0, blocks_, true, false});
          }
        },
        1);
  }

 private:
  // Ranges of row groups (numbered over all query heads of the key head) and of blocks of columns.
  struct Part {
    int64_t row_begin, row_end, block_begin, block_end;
    bool want_q, want_kv;
  };

  // A group of rows of one head.
  struct Group {
    const Head<S, T>* head;
    int64_t first, count, to;  // `to`: its first row in dq
    ColumnRange range;
    bool all;  // takes all columns: a row whose lse is not finite has NaN in every weight
    Side<T> q, dy;
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
    for (int64_t h = 0; h < per_group; ++h)
      heads.emplace_back(a_, call_, a_.kMaskBuffer, b, g * per_group + h);
    Workspace<T> memory(rows * (a_.depth + 2 * depth_ + a_.width + width_ + 2) + 2 * kArea +
                        kAttentionBlock * (2 * depth_ + a_.width + width_) + 13 * Workspace<T>::kAlign);
    T *qt = memory.take(rows * a_.depth), *q = memory.take(rows * depth_), *dq = memory.take(rows * depth_);
    T *dyt = memory.take(rows * a_.width), *dy = memory.take(rows * width_), *lse = memory.take(rows),
      *delta = memory.take(rows);
    T *s = memory.take(kArea), *ds = memory.take(kArea), *k = memory.take(kAttentionBlock * depth_),
      *v = memory.take(kAttentionBlock * a_.width);
    T *dk = memory.take(kAttentionBlock * depth_), *dv = memory.take(kAttentionBlock * width_);
    for (int64_t i = 0; i < count; ++i) {
      int64_t which = (p.row_begin + i) / row_groups_, first = (p.row_begin + i) % row_groups_ * kAttentionRows,
              h = g * per_group + which, at = i * kAttentionRows;
      int64_t n = std::min(kAttentionRows, a_.rows - first);
      const Head<S, T>& head = heads[which];
      MatrixRows<S, T> dys{call_.buffer<const S>(8) + b * a_.dy[0] + h * a_.dy[2], a_.dy[1], a_.dy[3]};
      Group group{&head,
                  first,
                  n,
                  (b * a_.rows + first) * a_.heads + h,
                  head.sight.range(first, first + n - 1),
                  false,
                  {},
                  {},
                  qt + at * a_.depth,
                  dyt + at * a_.width,
                  lse + at,
                  delta + at,
                  dq + at * depth_};
      panels(0, n, kern_.lanes, [&](int64_t r, int64_t m, int64_t width) {
        head.q.transpose(first + r, m, a_.depth, width, head.scale, group.qt + r * a_.depth);
        dys.transpose(first + r, m, a_.width, width, T(1), group.dyt + r * a_.width);
      });
      if (p.want_kv) {
        group.q = head.q.side(first, n, a_.depth, depth_, blocks_, q + at * depth_);
        group.dy = dys.side(first, n, a_.width, width_, blocks_, dy + at * width_);
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
    for (int64_t j = p.block_begin * kAttentionBlock; j < std::min(a_.columns, p.block_end * kAttentionBlock);
         j += kAttentionBlock) {
      int64_t end = std::min(a_.columns, j + kAttentionBlock);
      Side<T> ks = heads[0].k.side(j, end - j, a_.depth, depth_, count, k),
              vs = heads[0].v.side(j, end - j, a_.width, a_.width, count, v);
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
          kern_.rows_times(columns, width, a_.depth, k_rows, ks.row, group.qt + r * a_.depth, width, s + r,
                           kAttentionRows, false);
          kern_.rows_times(columns, width, a_.width, v_rows, vs.row, group.dyt + r * a_.width, width, ds + r,
                           kAttentionRows, false);
          if (a_.mask == MaskKind::Added) head.add_mask(group.first + r, n, c0, c1, s + r, kAttentionRows);
          View<T>& view = views.at(r);
          view.look(head.sight, group.first + r, n, c0, c1);
          auto hide = [&](T value, T* from) {
            view.hide(value, from, width, kAttentionRows);
            if (masked) head.hide_masked(group.first + r, n, c0, c1, value, from, kAttentionRows);
          };
          hide(-std::numeric_limits<T>::infinity(), s + r);
          kern_.reverse(columns, s + r, ds + r, kAttentionRows, width, group.lse + r, group.delta + r);
          hide(T(0), ds + r);
        });
        if (p.want_q)
          kern_.columns_times(group.count, depth_, columns, ds, kAttentionRows, k_rows, ks.row, group.dq, depth_,
                              Start::Before, nullptr);
        if (!p.want_kv) continue;
        kern_.rows_times(columns, depth_, group.count, ds, kAttentionRows, group.q.data, group.q.row,
                         dk + (c0 - j) * depth_, depth_, true);
        kern_.rows_times(columns, width_, group.count, s, kAttentionRows, group.dy.data, group.dy.row,
                         dv + (c0 - j) * width_, width_, true);
      }
      if (p.want_kv) {
        const int64_t to = (b * a_.columns + j) * a_.groups + g;
        const T one = 1;
        store_scaled(end - j, a_.depth, dk, depth_, &heads[0].scale, 0, dk_ + to * a_.depth, a_.groups * a_.depth);
        store_scaled(end - j, a_.width, dv, width_, &one, 0, dv_ + to * a_.width, a_.groups * a_.width);
      }
    }
    if (p.want_q)
      for (const Group& group : groups)
        store_scaled(group.count, a_.depth, group.dq, depth_, &group.head->scale, 0, dq_ + group.to * a_.depth,
                     a_.heads * a_.depth);
  }

  const AttentionVjpArgs<>& a_;
  const routines::RoutineCall& call_;
  const AttentionKernels<T>& kern_ = attention_kernels<T>();
  int64_t depth_, width_, row_groups_, blocks_;
  const T *lse_, *delta_;
  S *dq_, *dk_, *dv_;
};

}  // namespace

void attention_vjp(const routines::RoutineCall& call, const AttentionVjpArgs<>& args) {
  if (routines::sums_by_tiles(call.arithmetic, args)) return attention_vjp_by_tiles(call, args);
  run_attention<Reverse>(call, args);
}

}  // namespace sheaf::kernels

// The gradient of bf16 attention on a matrix unit, with the bits of the definition by tiles
// (routines/attention/args.h). Tasks and the order of blocks are those of backward.cpp. A group of rows is packed once
// in the four layouts that the products need, a block of columns in three.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/tile_parts.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

class ReverseByTiles {
 public:
  ReverseByTiles(const routines::RoutineCall& call, const AttentionVjpArgs<>& args) : a_(args), call_(call) {
    lse_ = call_.buffer<const float>(6);
    delta_ = call_.buffer<const float>(7);
    const int out = a_.first_result(AttentionVjpArgs<>::kMaskBuffer);
    dq_ = call_.buffer<BFloat16>(out);
    dk_ = call_.buffer<BFloat16>(out + 1);
    dv_ = call_.buffer<BFloat16>(out + 2);
  }

  void run() const {
    const int64_t heads = a_.batch * a_.groups, row_groups = row_groups_ * a_.heads_per_group();
    const int64_t work = kScoreWork * a_.rows * a_.heads_per_group() * a_.columns + 1;
    const int64_t threads = runtime::num_threads();
    if (2 * heads > threads || work < 4 * kTaskFlops) {
      runtime::parallel_for(
          heads,
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              part(i, {0, row_groups, 0, blocks_, true, true});
          },
          std::max<int64_t>(1, kTaskFlops / work));
      return;
    }
    const int64_t parts = 2 * threads;
    runtime::parallel_for(
        heads * 2 * parts,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t p = i % (2 * parts) / 2;
            if (i % 2)
              part(i / (2 * parts), {0, row_groups, blocks_ * p / parts, blocks_ * (p + 1) / parts, false, true});
            else
              part(i / (2 * parts), {row_groups * p / parts, row_groups * (p + 1) / parts, 0, blocks_, true, false});
          }
        },
        1);
  }

 private:
  static constexpr int64_t kScoreWork = 96;  // flops of a score and its dependent work, as in kTaskFlops (bench models)
  static constexpr int64_t kSquare = kTileRows * kTileRows, kArea = kAttentionBlock * kTileRows;
  // A group whose range begins within a block adds zeros to the columns that pad its last tile.
  static constexpr int64_t kBlockRows = kAttentionBlock + kTileRows;

  // Ranges of row groups (numbered over all query heads of the key head) and of blocks of columns.
  struct Part {
    int64_t row_begin, row_end, block_begin, block_end;
    bool want_q, want_kv;
  };

  // A group of rows of one head.
  struct Group {
    const Head<BFloat16, float>* head;
    int64_t first, count, to;  // `to`: its first row in dq
    ColumnRange range;
    bool all;                            // takes all columns: a row whose lse is not finite has NaN weights
    BFloat16 *q_by_depth, *dy_by_width;  // panels of b whose terms (k) are the elements of a row
    BFloat16 *q_by_rows, *dy_by_rows;    // panels of b whose terms are the rows
    float *lse, *delta, *dq;             // dq [element][row]
  };

  // A block of columns as panels of a.
  struct Columns {
    BFloat16 *k, *v;       // a row of a is a column
    BFloat16* k_by_depth;  // a row of a is an element
  };

  struct Scores {
    float *s, *ds;  // [column][row]: scores, then weights; adjoints
    BFloat16 *right, *left_ds, *left_s;
  };

  int64_t group_elements() const { return 2 * (depth_steps_ + width_steps_) * kTilePanel; }
  int64_t column_elements() const { return (2 * depth_steps_ + width_steps_) * kBlockSteps * kTilePanel; }

  Columns columns_in(Workspace<BFloat16>& w) const {
    return {w.take(depth_steps_ * kBlockSteps * kTilePanel), w.take(width_steps_ * kBlockSteps * kTilePanel),
            w.take(depth_steps_ * kBlockSteps * kTilePanel)};
  }
  void pack(const Head<BFloat16, float>& head, int64_t from, int64_t to, bool want_q, const Columns& c) const {
    pack_rows(amx_.pack_a, head.k, from, to - from, a_.depth, c.k);
    pack_rows(amx_.pack_a, head.v, from, to - from, a_.width, c.v);
    if (want_q) pack_columns(amx_.pack_a, head.k, from, to - from, a_.depth, kBlockSteps, c.k_by_depth);
  }

  Group group_at(const std::vector<Head<BFloat16, float>>& heads, int64_t b, int64_t g, int64_t i, bool want_kv,
                 Workspace<BFloat16>& operands, Workspace<float>& numbers) const {
    const int64_t which = i / row_groups_, first = i % row_groups_ * kTileRows, h = g * a_.heads_per_group() + which,
                  n = std::min(kTileRows, a_.rows - first);
    const Head<BFloat16, float>& head = heads[which];
    const Bf16Rows dys{call_.buffer<const BFloat16>(8) + b * a_.dy[0] + h * a_.dy[2], a_.dy[1], a_.dy[3]};
    Group group{&head,
                first,
                n,
                (b * a_.rows + first) * a_.heads + h,
                head.sight.range(first, first + n - 1),
                false,
                operands.take(depth_steps_ * kTilePanel),
                operands.take(width_steps_ * kTilePanel),
                operands.take(depth_steps_ * kTilePanel),
                operands.take(width_steps_ * kTilePanel),
                numbers.take(kTileRows),
                numbers.take(kTileRows),
                numbers.take(depth_steps_ * kSquare)};
    pack_rows(amx_.pack_b, head.q, first, n, a_.depth, group.q_by_depth);
    pack_rows(amx_.pack_b, dys, first, n, a_.width, group.dy_by_width);
    if (want_kv) {
      pack_columns(amx_.pack_b, head.q, first, n, a_.depth, 1, group.q_by_rows);
      pack_columns(amx_.pack_b, dys, first, n, a_.width, 1, group.dy_by_rows);
    }
    for (int64_t r = 0; r < kTileRows; ++r) {
      const int64_t row = first + r;
      group.lse[r] = r < n ? lse_[b * a_.lse[0] + row * a_.lse[1] + h * a_.lse[2]] : 0;
      group.delta[r] = r < n ? delta_[b * a_.delta[0] + row * a_.delta[1] + h * a_.delta[2]] : 0;
      group.all |= !std::isfinite(group.lse[r]);
    }
    if (group.all) group.range = {0, a_.columns};
    std::fill_n(group.dq, depth_steps_ * kSquare, 0.0f);
    return group;
  }

  void part(int64_t task, const Part& p) const {
    const int64_t b = task / a_.groups, g = task % a_.groups, per_group = a_.heads_per_group();
    const int64_t count = p.row_end - p.row_begin, depth = depth_steps_ * kTileRows, width = width_steps_ * kTileRows;
    static thread_local std::vector<Head<BFloat16, float>> heads;
    static thread_local std::vector<Group> groups;
    static thread_local TileViews views;
    heads.clear();
    groups.clear();
    for (int64_t h = 0; h < per_group; ++h)
      heads.emplace_back(a_, call_, AttentionVjpArgs<>::kMaskBuffer, b, g * per_group + h);
    Workspace<BFloat16> operands(count * (group_elements() + 4 * Workspace<BFloat16>::kAlign) + 2 * column_elements() +
                                 4 * kBlockSteps * kTilePanel + 9 * Workspace<BFloat16>::kAlign);
    Workspace<float> numbers(count * (2 * kTileRows + depth_steps_ * kSquare + 3 * Workspace<float>::kAlign) +
                             2 * kArea + kBlockRows * (depth + width) + kTileRows * depth +
                             5 * Workspace<float>::kAlign);
    for (int64_t i = p.row_begin; i < p.row_end; ++i)
      groups.push_back(group_at(heads, b, g, i, p.want_kv, operands, numbers));
    const Columns shared = columns_in(operands), own = columns_in(operands);
    auto weights = [&] { return operands.take(kBlockSteps * kTilePanel); };
    const Scores scores{numbers.take(kArea), numbers.take(kArea), weights(), weights(), weights()};
    float *dk = numbers.take(kBlockRows * depth), *dv = numbers.take(kBlockRows * width),
          *rows = numbers.take(kTileRows * depth);
    for (int64_t j = p.block_begin * kAttentionBlock; j < std::min(a_.columns, p.block_end * kAttentionBlock);
         j += kAttentionBlock) {
      const int64_t end = std::min(a_.columns, j + kAttentionBlock);
      pack(heads[0], j, end, p.want_q, shared);
      std::fill_n(dk, kBlockRows * depth, 0.0f);
      std::fill_n(dv, kBlockRows * width, 0.0f);
      for (Group& group : groups) {
        const int64_t c0 = std::max(j, group.range.begin), c1 = std::min(end, group.range.end);
        if (c0 >= c1) continue;
        const auto shown = group.head->shown(group.first, group.first + group.count - 1, c0, c1);
        if (shown == Head<BFloat16, float>::Shown::Nothing && !group.all) continue;
        const bool fits = fits_packed(c0, c1, j, end);
        if (!fits) pack(heads[0], c0, c1, p.want_q, own);
        const Columns& columns = fits ? shared : own;
        weigh(group, columns, c0, c1, shown != Head<BFloat16, float>::Shown::Everything, views, scores);
        if (p.want_q) add_to_q(group, columns, c1 - c0, scores);
        if (p.want_kv) add_to_kv(group, c1 - c0, scores, dk + (c0 - j) * depth, depth, dv + (c0 - j) * width, width);
      }
      if (p.want_kv) {
        const int64_t to = (b * a_.columns + j) * a_.groups + g;
        const float one = 1;
        store_scaled(end - j, a_.depth, dk, depth, &heads[0].scale, 0, dk_ + to * a_.depth, a_.groups * a_.depth);
        store_scaled(end - j, a_.width, dv, width, &one, 0, dv_ + to * a_.width, a_.groups * a_.width);
      }
    }
    if (!p.want_q) return;
    for (const Group& group : groups) {
      kern_.copies.of(static_cast<const float*>(group.dq))
          .transpose(a_.depth, kTileRows, group.dq, kTileRows, 1.0f, rows, depth);
      store_scaled(group.count, a_.depth, rows, depth, &heads[0].scale, 0, dq_ + group.to * a_.depth,
                   a_.heads * a_.depth);
    }
  }

  // Weights and adjoints of the scores of columns [c0, c1).
  void weigh(const Group& group, const Columns& packed, int64_t c0, int64_t c1, bool masked, TileViews& views,
             const Scores& out) const {
    const Head<BFloat16, float>& head = *group.head;
    const int64_t columns = c1 - c0;
    for (int64_t p = 0; p < tile_steps(columns); ++p) {
      tiles_.multiply(depth_steps_, packed.k + p * depth_steps_ * kTilePanel, group.q_by_depth, out.s + p * kSquare,
                      kTileRows, true);
      tiles_.multiply(width_steps_, packed.v + p * width_steps_ * kTilePanel, group.dy_by_width, out.ds + p * kSquare,
                      kTileRows, true);
    }
    kern_.scale_rows(1, columns * kTileRows, out.s, 0, &head.scale, 0, out.s, 0);
    tile_panels(group.count, kern_.lanes, [&](int64_t r, int64_t n, int64_t width) {
      float *s = out.s + r, *ds = out.ds + r;
      const int64_t first = group.first + r;
      if (a_.mask == MaskKind::Added) head.add_mask(first, n, c0, c1, s, kTileRows);
      View<float>& view = views.at(r);
      view.look(head.sight, first, n, c0, c1);
      auto hide = [&](float value, float* from) {
        view.hide(value, from, width, kTileRows);
        if (masked) head.hide_masked(first, n, c0, c1, value, from, kTileRows);
      };
      hide(-std::numeric_limits<float>::infinity(), s);
      kern_.reverse(columns, s, ds, kTileRows, width, group.lse + r, group.delta + r);
      hide(0, ds);
    });
    // Padding rows are terms of the sums over rows: set them to zero.
    for (int64_t j = 0; group.count < kTileRows && j < columns; ++j) {
      std::fill(out.s + j * kTileRows + group.count, out.s + (j + 1) * kTileRows, 0.0f);
      std::fill(out.ds + j * kTileRows + group.count, out.ds + (j + 1) * kTileRows, 0.0f);
    }
  }

  void add_to_q(const Group& group, const Columns& packed, int64_t columns, const Scores& scores) const {
    tiles_.pack_right(columns, scores.ds, scores.right);
    for (int64_t d = 0; d < depth_steps_; ++d)
      tiles_.multiply(tile_steps(columns), packed.k_by_depth + d * kBlockSteps * kTilePanel, scores.right,
                      group.dq + d * kSquare, kTileRows, false);
  }

  void add_to_kv(const Group& group, int64_t columns, const Scores& scores, float* dk, int64_t depth, float* dv,
                 int64_t width) const {
    tiles_.pack_left(columns, scores.ds, scores.left_ds);
    tiles_.pack_left(columns, scores.s, scores.left_s);
    for (int64_t p = 0; p < tile_steps(columns); ++p) {
      for (int64_t d = 0; d < depth; d += kTileRows)
        tiles_.multiply(1, scores.left_ds + p * kTilePanel, group.q_by_rows + d / kTileRows * kTilePanel,
                        dk + p * kTileRows * depth + d, depth, false);
      for (int64_t e = 0; e < width; e += kTileRows)
        tiles_.multiply(1, scores.left_s + p * kTilePanel, group.dy_by_rows + e / kTileRows * kTilePanel,
                        dv + p * kTileRows * width + e, width, false);
    }
  }

  const AttentionVjpArgs<>& a_;
  const routines::RoutineCall& call_;
  const AttentionKernels<float>& kern_ = attention_kernels<float>();
  const AttentionTiles& tiles_ = attention_tiles();
  const AmxKernels& amx_ = amx_kernels();
  const int64_t depth_steps_ = tile_steps(a_.depth), width_steps_ = tile_steps(a_.width),
                row_groups_ = pieces(a_.rows, kTileRows), blocks_ = pieces(a_.columns, kAttentionBlock);
  const float *lse_, *delta_;
  BFloat16 *dq_, *dk_, *dv_;
};

}  // namespace

void attention_vjp_by_tiles(const routines::RoutineCall& call, const AttentionVjpArgs<>& args) {
  ReverseByTiles(call, args).run();
}

}  // namespace sheaf::kernels

// bf16 attention on a matrix unit, with the bits of the definition by tiles (routines/attention/args.h). A task is some
// rows of one head; it packs blocks of columns one at a time and multiplies groups of 32 rows by each. Scores and sums
// are stored transposed, so that rows are the lanes of all computation between the two products.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/attention/attention.h"
#include "kernels/attention/tile_parts.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::kAttentionStretch;

constexpr int64_t kTaskRows = 256;
constexpr int64_t kGroups = kTaskRows / kTileRows;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Streaming sums of the groups of rows of a task: m and l [group][row], y [group][element][row].
struct Sums {
  float *m, *l, *y;
  bool touched[kGroups];
};

struct Task {
  int64_t b, h, first, rows;
  Head<BFloat16, float> head;
  int64_t rows_of(int64_t group) const { return std::min(kTileRows, rows - group * kTileRows); }
};

class ForwardByTiles {
 public:
  ForwardByTiles(const routines::RoutineCall& call, const AttentionArgs<>& args) : a_(args), call_(call) {
    const int out = a_.first_result();
    y_ = call_.buffer<BFloat16>(out);
    lse_ = call_.buffer<float>(out + 1);
  }

  void run() const {
    const int64_t heads = a_.batch * a_.heads;
    // Rows of a task: halved while there are too few tasks.
    int64_t task_rows = std::min(kTaskRows, round_up(a_.rows, kTileRows));
    while (task_rows > kTileRows && heads * pieces(a_.rows, task_rows) < 4 * runtime::num_threads())
      task_rows = round_up(task_rows / 2, kTileRows);
    const int64_t parts = pieces(a_.rows, task_rows);
    runtime::parallel_for(
        heads * parts,
        [&](int64_t begin, int64_t end) {
          const int64_t stretches = pieces(a_.columns, kAttentionStretch);
          Workspace<BFloat16> operands(operand_elements());
          Workspace<float> numbers(number_elements());
          Block block = block_in(operands, numbers);
          Sums total = sums_in(numbers), part = stretches > 1 ? sums_in(numbers) : total;
          for (int64_t t = begin; t < end; ++t) {
            const int64_t head = t / parts, first = t % parts * task_rows, b = head / a_.heads, h = head % a_.heads;
            const Task task{
                b, h, first, std::min(task_rows, a_.rows - first), {a_, call_, AttentionArgs<>::kMaskBuffer, b, h}};
            pack_rows(amx_.pack_b, task.head.q, first, task.rows, a_.depth, block.q);
            stretch(task, block, 0, total);
            for (int64_t i = 1; i < stretches; ++i) {
              stretch(task, block, i, part);
              join(task, total, part);
            }
            finish(task, block, total);
          }
        },
        std::max<int64_t>(1, kTaskFlops / (kScoreWork * task_rows * a_.columns + 1)));
  }

 private:
  static constexpr int64_t kScoreWork = 32;  // flops of a score and its dependent work, as in kTaskFlops (bench models)

  // k and v of a block of columns, packed.
  struct Columns {
    BFloat16 *k, *v;
  };
  struct Block {
    BFloat16* q;          // of the task
    Columns shared, own;  // of all groups; of a group whose range cuts the block at other columns
    BFloat16* weights;
    float *s, *y;  // scores [column][row]; y [row][element] of a group
    TileViews views;
  };

  int64_t k_elements() const { return kAttentionBlock / kTileRows * depth_steps_ * kTilePanel; }
  int64_t v_elements() const { return width_panels_ * kBlockSteps * kTilePanel; }
  int64_t operand_elements() const {
    return kGroups * depth_steps_ * kTilePanel + 2 * (k_elements() + v_elements()) + kBlockSteps * kTilePanel +
           6 * Workspace<BFloat16>::kAlign;
  }
  int64_t y_elements() const { return width_panels_ * kTileRows * kTileRows; }
  int64_t number_elements() const {
    return kAttentionBlock * kTileRows + y_elements() + 2 * kGroups * (2 * kTileRows + y_elements()) +
           8 * Workspace<float>::kAlign;
  }
  Block block_in(Workspace<BFloat16>& operands, Workspace<float>& numbers) const {
    auto columns = [&] { return Columns{operands.take(k_elements()), operands.take(v_elements())}; };
    BFloat16* q = operands.take(kGroups * depth_steps_ * kTilePanel);
    const Columns shared = columns(), own = columns();
    return {q,
            shared,
            own,
            operands.take(kBlockSteps * kTilePanel),
            numbers.take(kAttentionBlock * kTileRows),
            numbers.take(y_elements()),
            {}};
  }
  Sums sums_in(Workspace<float>& numbers) const {
    return {
        numbers.take(kGroups * kTileRows), numbers.take(kGroups * kTileRows), numbers.take(kGroups * y_elements()), {}};
  }

  void pack(const Task& t, int64_t from, int64_t to, const Columns& c) const {
    pack_rows(amx_.pack_a, t.head.k, from, to - from, a_.depth, c.k);
    pack_columns(amx_.pack_a, t.head.v, from, to - from, a_.width, kBlockSteps, c.v);
  }

  // Computes the sums over the blocks of one segment of columns.
  void stretch(const Task& t, Block& block, int64_t which, Sums& sums) const {
    const int64_t groups = pieces(t.rows, kTileRows);
    ColumnRange ranges[kGroups];
    int64_t begin = INT64_MAX, end = 0;
    std::fill(std::begin(sums.touched), std::end(sums.touched), false);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t first = t.first + g * kTileRows;
      const ColumnRange r = t.head.sight.range(first, first + t.rows_of(g) - 1);
      ranges[g] = {std::max(r.begin, which * kAttentionStretch), std::min(r.end, (which + 1) * kAttentionStretch)};
      if (ranges[g].begin >= ranges[g].end) continue;
      begin = std::min(begin, ranges[g].begin);
      end = std::max(end, ranges[g].end);
    }
    for (int64_t j = begin / kAttentionBlock * kAttentionBlock; j < end; j += kAttentionBlock) {
      const int64_t from = std::max(j, begin), to = std::min(end, j + kAttentionBlock);
      pack(t, from, to, block.shared);
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t c0 = std::max(from, ranges[g].begin), c1 = std::min(to, ranges[g].end);
        if (c0 >= c1) continue;
        const bool fits = fits_packed(c0, c1, from, to);
        if (!fits) pack(t, c0, c1, block.own);
        add_block(t, block, fits ? block.shared : block.own, g, c0, c1, sums);
      }
    }
    for (int64_t g = 0; g < groups; ++g) {
      if (sums.touched[g]) continue;
      std::fill_n(sums.m + g * kTileRows, kTileRows, kHidden);
      std::fill_n(sums.l + g * kTileRows, kTileRows, 0.0f);
      std::fill_n(sums.y + g * y_elements(), y_elements(), 0.0f);
    }
  }

  // Adds columns [c0, c1) to the sums of group g.
  void add_block(const Task& t, Block& block, const Columns& packed, int64_t g, int64_t c0, int64_t c1,
                 Sums& sums) const {
    using Shown = Head<BFloat16, float>::Shown;
    const int64_t first = t.first + g * kTileRows, rows = t.rows_of(g), columns = c1 - c0;
    const Shown shown = t.head.shown(first, first + rows - 1, c0, c1);
    if (shown == Shown::Nothing) return;
    const bool first_block = !std::exchange(sums.touched[g], true);
    for (int64_t p = 0; p < pieces(columns, kTileRows); ++p)
      tiles_.multiply(depth_steps_, packed.k + p * depth_steps_ * kTilePanel, block.q + g * depth_steps_ * kTilePanel,
                      block.s + p * kTileRows * kTileRows, kTileRows, true);
    kern_.scale_rows(1, columns * kTileRows, block.s, 0, &t.head.scale, 0, block.s, 0);
    float factor[kTileRows];
    std::fill(std::begin(factor), std::end(factor), 1.0f);
    tile_panels(rows, kern_.lanes, [&](int64_t r, int64_t n, int64_t width) {
      float* s = block.s + r;
      if (a_.mask == MaskKind::Added) t.head.add_mask(first + r, n, c0, c1, s, kTileRows);
      View<float>& view = block.views.at(r);
      view.look(t.head.sight, first + r, n, c0, c1);
      view.hide(kHidden, s, width, kTileRows);
      if (shown == Shown::Some) t.head.hide_masked(first + r, n, c0, c1, kHidden, s, kTileRows);
      const int64_t at = g * kTileRows + r;
      kern_.weigh(columns, s, kTileRows, width, first_block, sums.m + at, sums.l + at, factor + r);
    });
    float* y = sums.y + g * y_elements();
    if (!first_block) tiles_.scale(a_.width, y, factor);
    tiles_.pack_right(columns, block.s, block.weights);
    for (int64_t p = 0; p < width_panels_; ++p)
      tiles_.multiply(tile_steps(columns), packed.v + p * kBlockSteps * kTilePanel, block.weights,
                      y + p * kTileRows * kTileRows, kTileRows, first_block);
  }

  void join(const Task& t, Sums& total, const Sums& part) const {
    float first[kTileRows] = {}, second[kTileRows] = {};
    for (int64_t g = 0; g * kTileRows < t.rows; ++g) {
      if (!part.touched[g]) continue;
      const int64_t r = g * kTileRows;
      float* y = total.y + g * y_elements();
      const float* from = part.y + g * y_elements();
      if (std::exchange(total.touched[g], true)) {
        kern_.join(t.rows_of(g), total.m + r, total.l + r, part.m + r, part.l + r, first, second);
        tiles_.join(a_.width, y, from, first, second);
      } else {
        std::copy_n(part.m + r, kTileRows, total.m + r);
        std::copy_n(part.l + r, kTileRows, total.l + r);
        std::copy_n(from, y_elements(), y);
      }
    }
  }

  void finish(const Task& t, Block& block, const Sums& sums) const {
    const int64_t padded = width_panels_ * kTileRows;
    for (int64_t g = 0; g * kTileRows < t.rows; ++g) {
      const int64_t rows = t.rows_of(g), at = (t.b * a_.rows + t.first + g * kTileRows) * a_.heads + t.h;
      float lse[kTileRows], inverse[kTileRows];
      kern_.conclude(rows, sums.m + g * kTileRows, sums.l + g * kTileRows, lse, inverse);
      const float* y = sums.y + g * y_elements();
      kern_.copies.of(y).transpose(a_.width, kTileRows, y, kTileRows, 1.0f, block.y, padded);
      store_scaled(rows, a_.width, block.y, padded, inverse, 1, y_ + at * a_.width, a_.heads * a_.width);
      for (int64_t i = 0; i < rows; ++i)
        lse_[at + i * a_.heads] = lse[i];
    }
  }

  const AttentionArgs<>& a_;
  const routines::RoutineCall& call_;
  const AttentionKernels<float>& kern_ = attention_kernels<float>();
  const AttentionTiles& tiles_ = attention_tiles();
  const AmxKernels& amx_ = amx_kernels();
  const int64_t depth_steps_ = tile_steps(a_.depth), width_panels_ = pieces(a_.width, kTileRows);
  BFloat16* y_;
  float* lse_;
};

}  // namespace

void attention_by_tiles(const routines::RoutineCall& call, const AttentionArgs<>& args) {
  ForwardByTiles(call, args).run();
}

}  // namespace sheaf::kernels

// Products of many rows with quantized weights, on a matrix unit or with vector instructions on bytes.
//
//   for each panel of rows, on all threads      quantize x and pack it as bytes
//   for each strip of columns and some rows     a task: packs the strip of weights, which stays in L2
//     for each panel of rows
//       for some groups                         the panel of x stays in L1 during the loop over
//         for each panel of columns             the panels of weights
//           for each group                      scale the integer sums and add them to the results
#include <algorithm>
#include <cstring>

#include "kernels/quantized/byte_tiles.h"
#include "kernels/quantized/groups.h"
#include "kernels/quantized/quantized.h"
#include "kernels/tile_grid.h"
#include "runtime/target.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kMostDepth = 64;          // bytes of a row of a tile
constexpr int64_t kNearBytes = 16 << 10;    // of a panel of x, so that it stays in L1
constexpr TileCosts kCosts = {100, 0, 30};  // estimated, in cycles for a group of 32
constexpr int64_t kPackElements = 1 << 15;  // of x, for a task

// The layout with the longest tile rows that divide a group; group sizes are multiples of eight.
ByteLayout layout_of(const routines::QuantizedArgs<>& g) {
  int64_t depth = kMostDepth;
  while (g.group_size() % depth != 0)
    depth -= 8;
  return {g.four_bits, depth, g.group_size() / depth};
}

class TiledProduct {
 public:
  TiledProduct(const float* x, const uint8_t* values, const float* scales, float* out,
               const routines::QuantizedArgs<>& g, const ByteTileKernels& kernels)
      : x_(x), values_(values), scales_(scales), out_(out), g_(g), kern_(kernels) {}

  void run() {
    packed_x_ = scratch<int8_t>(0, row_panels_ * g_.groups * layout_.panel_bytes());
    steps_ = scratch<float>(1, row_panels_ * g_.groups * rows_);
    const int64_t elements = rows_ * g_.groups * layout_.group();
    runtime::parallel_for(
        row_panels_,
        [&](int64_t begin, int64_t end) {
          for (int64_t panel = begin; panel < end; ++panel)
            pack_x(panel);
        },
        std::max<int64_t>(1, kPackElements / elements));
    const int64_t most =
        std::max<int64_t>(1, runtime::host_target().l2_bytes / 2 / (g_.groups * layout_.panel_bytes()));
    const TileGrid grid = choose_tile_grid(row_panels_, panels_, most, kCosts);
    const int64_t flops = 2 * pieces(g_.m, grid.groups) * pieces(g_.n, grid.strips) * g_.groups * layout_.group();
    runtime::parallel_for(
        grid.strips * grid.groups,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t group = task / grid.strips, strip = task % grid.strips;
            piece(row_panels_ * group / grid.groups, row_panels_ * (group + 1) / grid.groups,
                  panels_ * strip / grid.strips, panels_ * (strip + 1) / grid.strips);
          }
        },
        std::max<int64_t>(1, kTaskFlops / std::max<int64_t>(1, flops)));
  }

 private:
  void pack_x(int64_t panel) {
    const int64_t first = panel * rows_, rows = std::min(rows_, g_.m - first), size = layout_.group();
    float* near = g_.x.k == 1 ? nullptr : scratch<float>(2, rows_ * size);
    for (int64_t q = 0; q < g_.groups; ++q) {
      const float* from = x_ + first * g_.x.row + q * size * g_.x.k;
      for (int64_t i = 0; near && i < rows; ++i)
        for (int64_t l = 0; l < size; ++l)
          near[i * size + l] = from[i * g_.x.row + l * g_.x.k];
      kern_.pack_x(x_at(panel, q), steps_at(panel, q), near ? near : from, near ? size : g_.x.row, rows, layout_);
    }
  }
  int8_t* x_at(int64_t panel, int64_t group) const {
    return packed_x_ + (panel * g_.groups + group) * layout_.panel_bytes();
  }
  float* steps_at(int64_t panel, int64_t group) const { return steps_ + (panel * g_.groups + group) * rows_; }

  void piece(int64_t first_row, int64_t last_row, int64_t first_panel, int64_t last_panel) const {
    constexpr int64_t kTiles = kBytePanelColumns / kTile;
    const int64_t panels = last_panel - first_panel, bytes = layout_.panel_bytes();
    int8_t* weights = scratch<int8_t>(2, panels * g_.groups * bytes);
    float* totals = scratch<float>(3, panels * rows_ * kBytePanelColumns);
    for (int64_t q = 0; q < g_.groups; ++q)
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t tile = (first_panel + p) * kTiles;
        kern_.pack_weights(weights + (p * g_.groups + q) * bytes,
                           {values_ + q * g_.values.group + tile * g_.values.tile, g_.values.tile,
                            std::min(kTiles, pieces(g_.n, kTile) - tile)},
                           layout_);
      }
    const int64_t near = std::max<int64_t>(1, kNearBytes / bytes);
    for (int64_t r = first_row; r < last_row; ++r) {
      std::fill_n(totals, panels * rows_ * kBytePanelColumns, 0.0f);
      for (int64_t q = 0; q < g_.groups; q += near)
        for (int64_t p = 0; p < panels; ++p)
          add_groups(r, first_panel + p, q, std::min(near, g_.groups - q), weights + (p * g_.groups + q) * bytes,
                     totals + p * rows_ * kBytePanelColumns);
      write(r, first_panel, panels, totals);
    }
  }

  void add_groups(int64_t row_panel, int64_t panel, int64_t first, int64_t count, const int8_t* weights,
                  float* totals) const {
    const int64_t column = panel * kBytePanelColumns;
    kern_.add_groups(
        {x_at(row_panel, first), steps_at(row_panel, first), weights, scales_ + first * g_.scales.group + column,
         g_.scales.group, count, std::min(kBytePanelColumns, g_.n - column), totals},
        layout_);
  }

  void write(int64_t row_panel, int64_t first_panel, int64_t panels, const float* totals) const {
    const int64_t row = row_panel * rows_, rows = std::min(rows_, g_.m - row);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t column = (first_panel + p) * kBytePanelColumns;
        std::memcpy(out_ + (row + i) * g_.n + column, totals + (p * rows_ + i) * kBytePanelColumns,
                    static_cast<size_t>(std::min(kBytePanelColumns, g_.n - column)) * sizeof(float));
      }
  }

  const float* x_;
  const uint8_t* values_;
  const float* scales_;
  float* out_;
  const routines::QuantizedArgs<>& g_;
  const ByteTileKernels& kern_;
  const ByteLayout layout_ = layout_of(g_);
  const int64_t rows_ = layout_.panel_rows();
  const int64_t row_panels_ = pieces(g_.m, rows_), panels_ = pieces(g_.n, kBytePanelColumns);
  int8_t* packed_x_ = nullptr;
  float* steps_ = nullptr;
};

}  // namespace

bool has_byte_tiles(const routines::QuantizedArgs<>& g) {
  return is_stored_in_order(g) && g.deep == (g.four_bits ? kDeep<true> : kDeep<false>) && g.groups > 0;
}

void contract_quantized_tiles(const routines::RoutineCall& call, const routines::QuantizedArgs<>& g,
                              const ByteTileKernels& kernels) {
  for (int64_t p = 0; p < g.batch && g.m > 0 && g.n > 0; ++p)
    TiledProduct(call.buffer<const float>(0) + p * g.x.batch, call.buffer<const uint8_t>(1) + p * g.values.batch,
                 call.buffer<const float>(2) + p * g.scales.batch, call.buffer<float>(3) + p * g.m * g.n, g, kernels)
        .run();
}

}  // namespace sheaf::kernels

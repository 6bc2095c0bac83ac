// Divides a product into tasks that each pack a strip of B: strips of columns by groups of rows, counted in panels.
// Pure functions of the sizes and the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/tasks.h"

namespace sheaf::kernels {

struct TileGrid {
  int64_t strips = 1, groups = 1;
};
// Estimated times in any unit: of multiplying a panel of rows by a panel of columns, and of packing a panel of each.
struct TileCosts {
  double multiply, pack_a, pack_b;
};

// The grid of tasks with the least estimated time. `most`: the most panels of columns in a strip.
inline TileGrid choose_tile_grid(int64_t row_panels, int64_t panels, int64_t most, const TileCosts& costs) {
  const int64_t threads = runtime::num_threads();
  TileGrid best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t strips = pieces(panels, most); strips <= std::min(panels, pieces(panels, most) + 4 * threads); ++strips)
    for (int64_t rounds = 1; rounds <= 4; ++rounds) {
      const int64_t groups = std::clamp<int64_t>(rounds * threads / strips, 1, row_panels);
      const auto wide = static_cast<double>(pieces(panels, strips)),
                 high = static_cast<double>(pieces(row_panels, groups));
      const double task = wide * high * costs.multiply + wide * costs.pack_b + high * costs.pack_a;
      const double cost = static_cast<double>(pieces(strips * groups, threads)) * task;
      if (cost < least) least = cost, best = {strips, groups};
    }
  return best;
}

}  // namespace sheaf::kernels

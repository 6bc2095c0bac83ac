// If the launch works on units (flat blocks of elements), only tiles of whole rows are counted towards complete units.
// Narrower tiles are left to finish(): a unit would have to wait for many of them.
#include "runtime/epilogue_runner.h"

#include <algorithm>

namespace sheaf::runtime {

EpilogueRunner::EpilogueRunner(const EpilogueLaunch& epilogue, Pointers whole)
    : epilogue_(epilogue),
      whole_(std::move(whole)),
      units_(epilogue.unit > 0 ? epilogue.launch.sizes[0] : 0),
      complete_(units_ > 0 ? new std::atomic<int32_t>[units_]() : nullptr) {}

void EpilogueRunner::take(const Tile& tile) {
  const int64_t columns = epilogue_.columns, unit = epilogue_.unit;
  if (units_ == 0) return run(tile);
  if (tile.columns != columns) return;
  const int64_t begin = tile.row * columns, end = std::min(begin + tile.rows * columns, units_ * unit);
  const int64_t first = (begin + unit - 1) / unit, last = end / unit;
  if (first > last) return add_to_unit(last, end - begin);
  if (begin < end) {
    run_units(first, last);
    if (begin < first * unit) add_to_unit(first - 1, first * unit - begin);
    if (last * unit < end) add_to_unit(last, end - last * unit);
  }
}

void EpilogueRunner::finish() {
  for (int64_t first = 0, last; first < units_; first = last + 1) {
    auto is_open = [&](int64_t u) { return complete_[u].load(std::memory_order_relaxed) < epilogue_.unit; };
    while (first < units_ && !is_open(first))
      ++first;
    for (last = first; last < units_ && is_open(last);)
      ++last;
    run_units(first, last);
  }
}

void EpilogueRunner::run(const Tile& tile) const {
  Pointers at = whole_;
  for (size_t b = 0; b < at.size(); ++b)
    at[b] += tile.row * epilogue_.steps[2 * b] + tile.column * epilogue_.steps[2 * b + 1];
  const Launch& launch = epilogue_.launch;
  SmallVec<int64_t, 32> sizes(launch.sizes.begin(), launch.sizes.end());
  sizes[0] = tile.rows;
  sizes[1] = tile.columns;
  int64_t payload = 0;
  kernel_of(launch).run(at, sizes, payload);  // has no checks
}

void EpilogueRunner::run_units(int64_t first, int64_t last) {
  if (first >= last) return;
  run({first, last - first, 0, epilogue_.unit});
  for (int64_t u = first; u < last; ++u)
    complete_[u].store(static_cast<int32_t>(epilogue_.unit), std::memory_order_relaxed);
}

// The thread that completes a unit runs it; the acq_rel counter makes the elements of other threads visible to it.
void EpilogueRunner::add_to_unit(int64_t unit, int64_t elements) {
  if (complete_[unit].fetch_add(static_cast<int32_t>(elements), std::memory_order_acq_rel) + elements == epilogue_.unit)
    run({unit, 1, 0, epilogue_.unit});
}

}  // namespace sheaf::runtime

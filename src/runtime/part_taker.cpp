// Parts that are not whole rows are left for the end where the launch goes by units: a unit would have to wait for many
// of them.
#include "runtime/part_taker.h"

#include <algorithm>

namespace sheaf::runtime {

PartTaker::PartTaker(const Epilogue& how, Executable::Pointers whole)
    : how_(how),
      whole_(std::move(whole)),
      units_(how_.unit > 0 ? how.launch.sizes[0] : 0),
      complete_(units_ > 0 ? new std::atomic<int32_t>[units_]() : nullptr) {}

void PartTaker::take(const Part& part) {
  if (units_ == 0) return run(part);
  if (part.columns != how_.columns) return;
  const int64_t begin = part.row * how_.columns, end = std::min(begin + part.rows * how_.columns, units_ * how_.unit);
  const int64_t first = (begin + how_.unit - 1) / how_.unit, last = end / how_.unit;
  if (first > last) return add_to_unit(last, end - begin);
  if (begin < end) {
    run_units(first, last);
    if (begin < first * how_.unit) add_to_unit(first - 1, first * how_.unit - begin);
    if (last * how_.unit < end) add_to_unit(last, end - last * how_.unit);
  }
}

void PartTaker::finish() {
  for (int64_t first = 0, last; first < units_; first = last + 1) {
    auto is_left = [&](int64_t u) { return complete_[u].load(std::memory_order_relaxed) < how_.unit; };
    while (first < units_ && !is_left(first))
      ++first;
    for (last = first; last < units_ && is_left(last);)
      ++last;
    run_units(first, last);
  }
}

void PartTaker::run(const Part& part) const {
  Executable::Pointers at = whole_;
  for (size_t b = 0; b < at.size(); ++b)
    at[b] += part.row * how_.steps[2 * b] + part.column * how_.steps[2 * b + 1];
  SmallVec<int64_t, 32> sizes(how_.launch.sizes.begin(), how_.launch.sizes.end());
  sizes[0] = part.rows;
  sizes[1] = part.columns;
  int64_t payload = 0;
  how_.launch.kernel->run(at, sizes, payload);  // has no checks
}

void PartTaker::run_units(int64_t first, int64_t last) {
  if (first >= last) return;
  run({first, last - first, 0, how_.unit});
  for (int64_t u = first; u < last; ++u)
    complete_[u].store(static_cast<int32_t>(how_.unit), std::memory_order_relaxed);
}

// Whoever brings the last elements runs it, and sees those that others brought.
void PartTaker::add_to_unit(int64_t unit, int64_t elements) {
  if (complete_[unit].fetch_add(static_cast<int32_t>(elements), std::memory_order_acq_rel) + elements == how_.unit)
    run({unit, 1, 0, how_.unit});
}

}  // namespace sheaf::runtime

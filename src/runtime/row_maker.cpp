// Rows that are read once need no memory of their own: each thread makes them in the same few pages, which stay in its
// cache.
#include "runtime/row_maker.h"

namespace sheaf::runtime {

std::byte* RowMaker::place_for(int64_t row, int64_t rows, bool again) {
  const int64_t step = how_.row_steps[how_.factor];
  if (how_.materialized) return whole_[how_.factor] + row * step;
  if (again) {
    std::call_once(is_kept_, [&] { kept_ = Buffer::allocate(static_cast<size_t>(how_.launch.sizes[0] * step)); });
    return kept_->data() + row * step;
  }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static thread_local std::unique_ptr<Line[]> near;
  static thread_local int64_t lines = 0;
  if (const int64_t needed = (rows * step + int64_t(sizeof(Line)) - 1) / int64_t(sizeof(Line)); needed > lines) {
    near.reset(new Line[static_cast<size_t>(needed)]);
    lines = needed;
  }
  return near[0].bytes;
}

const std::byte* RowMaker::make(int64_t row, int64_t rows, bool again) {
  std::byte* to = place_for(row, rows, again);
  if (rows == 0) return to;
  Executable::Pointers at = whole_;
  for (size_t b = 0; b < at.size(); ++b)
    at[b] += row * how_.row_steps[b];
  at[how_.factor] = to;
  SmallVec<int64_t, 32> sizes(how_.launch.sizes.begin(), how_.launch.sizes.end());
  sizes[0] = rows;
  int64_t payload = 0;
  how_.launch.kernel->run(at, sizes, payload);  // has no checks
  return to;
}

// The largest of its arrays.
MadeOf RowMaker::made_of() const {
  MadeOf most;
  for (size_t b = 0; b < whole_.size(); ++b)
    if (static_cast<int>(b) != how_.factor && how_.row_steps[b] > most.step) most = {whole_[b], how_.row_steps[b]};
  return most;
}

}  // namespace sheaf::runtime

// Rows that are read once are not materialized: each thread computes them into the same few pages, which stay in its
// cache.
#include "runtime/prologue_runner.h"

namespace sheaf::runtime {

std::byte* PrologueRunner::place_for(int64_t row, int64_t rows, bool keep) {
  const int64_t step = prologue_.row_steps[prologue_.factor];
  if (prologue_.materialized) return whole_[prologue_.factor] + row * step;
  if (keep) {
    std::call_once(is_materialized_,
                   [&] { matrix_ = Buffer::allocate(static_cast<size_t>(prologue_.launch.sizes[0] * step)); });
    return matrix_->host_mut() + row * step;
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

const std::byte* PrologueRunner::make(int64_t row, int64_t rows, bool keep) {
  std::byte* to = place_for(row, rows, keep);
  if (rows == 0) return to;
  Pointers at = whole_;
  for (size_t b = 0; b < at.size(); ++b)
    at[b] += row * prologue_.row_steps[b];
  at[prologue_.factor] = to;
  const Launch& launch = prologue_.launch;
  SmallVec<int64_t, 32> sizes(launch.sizes.begin(), launch.sizes.end());
  sizes[0] = rows;
  int64_t payload = 0;
  kernel_of(launch).run(at, sizes, payload);  // has no checks
  return to;
}

PrologueSource PrologueRunner::source() const {
  PrologueSource largest;
  for (size_t b = 0; b < whole_.size(); ++b)
    if (static_cast<int>(b) != prologue_.factor && prologue_.row_steps[b] > largest.row_step)
      largest = {whole_[b], prologue_.row_steps[b]};
  return largest;
}

}  // namespace sheaf::runtime

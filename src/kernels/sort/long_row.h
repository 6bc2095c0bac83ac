// Sorts one long row with all threads; same result as the single-threaded sort.
#pragma once
#include <cstdint>

namespace sheaf::kernels {

// True if a row has enough elements for several threads.
constexpr bool is_long_row(int64_t n) { return n >= 1 << 16; }

// Writes the first `count` of the n elements of `row` in sorted order, and their positions. `values` may alias `row`.
template <class T>
void sort_long_row(const T* row, int64_t n, bool descending, T* values, int32_t* positions, int64_t count);

}  // namespace sheaf::kernels

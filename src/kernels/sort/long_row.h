// Sorts one row by all threads: the same result as row by row.
#pragma once
#include <cstdint>

namespace sheaf::kernels {

// Whether a row has enough elements to be shared out.
constexpr bool is_long_row(int64_t n) { return n >= 1 << 16; }

// The first `count` of the n elements of `row` in order, and where they came from. `values` may be `row`.
template <class T>
void sort_long_row(const T* row, int64_t n, bool descending, T* values, int32_t* positions, int64_t count);

}  // namespace sheaf::kernels

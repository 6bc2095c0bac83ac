// Products and sums that saturate at the largest number instead of overflowing: no memory can hold such a size, so the
// allocator refuses it.
#pragma once
#include <cstdint>

namespace sheaf {

inline int64_t saturated_mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : r;
}

inline int64_t saturated_add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

}  // namespace sheaf

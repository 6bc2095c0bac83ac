// Products and sums that stop at the largest number instead of overflowing: a size like that is too large for anything
// and is refused where memory is asked for.
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

#include "scalar/bf16_dot.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace sheaf::scalar {

namespace {

constexpr float kSmallest = std::numeric_limits<float>::min();

float without_subnormal(float x) { return std::fabs(x) < kSmallest ? std::copysign(0.0f, x) : x; }
float widened(BFloat16 x) { return without_subnormal(convert<float>(x)); }

// sum + a b, rounded once.
float add_product(float sum, float a, float b) {
  sum = without_subnormal(sum);
  float total = std::fma(a, b, sum);
  if (std::fabs(total) > kSmallest || total == 0 || std::isnan(total)) return total;
  // Tininess is detected after rounding to the full precision of a normal number, so scale up by 2^64 first.
  constexpr float kUp = 0x1p64f;
  if (std::fabs(a) < std::fabs(b)) std::swap(a, b);
  return std::fabs(std::fma(a, b * kUp, sum * kUp)) < kSmallest * kUp ? std::copysign(0.0f, total) : total;
}

#if !defined(__x86_64__)
// Rounds the exact value x + rest to odd.
float to_odd(double x, double rest) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (std::isinf(x) || x == 0) return static_cast<float>(x);
  if (rest != 0 && std::signbit(rest) != std::signbit(x))
    x = std::nextafter(x, 0.0);  // the truncated value must not exceed the exact one in magnitude
  constexpr uint64_t kCut = (uint64_t(1) << 29) - 1;
  uint64_t bits = std::bit_cast<uint64_t>(x);
  bool inexact = rest != 0 || (bits & kCut) != 0;
  float cut = static_cast<float>(std::bit_cast<double>(bits & ~kCut));  // exact unless out of the range of floats
  if (std::isinf(cut)) return cut;
  if (std::fabs(cut) < kSmallest) return std::copysign(0.0f, cut);
  return inexact ? std::bit_cast<float>(std::bit_cast<uint32_t>(cut) | 1) : cut;
}

float add(float a, float b) {
  double x = without_subnormal(a), y = without_subnormal(b), sum = x + y;
  double part = sum - x, rest = std::isfinite(sum) ? (x - (sum - part)) + (y - part) : 0;
  return to_odd(sum, rest);
}

float multiply(BFloat16 a, BFloat16 b) { return to_odd(double(widened(a)) * widened(b), 0); }
#endif

}  // namespace

float bf16_dot(float sum, BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1) {
#if defined(__x86_64__)
  return add_product(add_product(sum, widened(a1), widened(b1)), widened(a0), widened(b0));
#else
  return add(sum, add(multiply(a0, b0), multiply(a1, b1)));
#endif
}

void Bf16TileSum::add(BFloat16 a0, BFloat16 b0, BFloat16 a1, BFloat16 b1) {
  even_ = add_product(even_, widened(a0), widened(b0));
  odd_ = add_product(odd_, widened(a1), widened(b1));
}

float Bf16TileSum::added_to(float total) const {
  return without_subnormal(without_subnormal(total) + without_subnormal(even_ + odd_));
}

}  // namespace sheaf::scalar

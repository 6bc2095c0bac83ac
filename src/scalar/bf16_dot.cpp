#include "scalar/bf16_dot.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP2_BF16
#define HWCAP2_BF16 (1 << 14)
#endif
#endif

namespace sheaf::scalar {

bool has_bf16_instructions() {
#if defined(__aarch64__)
  static const bool has = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
  return has;
#elif defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw");
  return has;
#else
  return false;
#endif
}

namespace {

std::atomic<bool>& in_pairs() {
  static std::atomic<bool> pairs = has_bf16_instructions();
  return pairs;
}

constexpr float kSmallest = std::numeric_limits<float>::min();

float without_subnormal(float x) { return std::fabs(x) < kSmallest ? std::copysign(0.0f, x) : x; }
float widened(scalar::BFloat16 x) { return without_subnormal(scalar::convert<float>(x)); }

#if defined(__x86_64__)
// sum + a b, rounded once.
float add_product(float sum, float a, float b) {
  sum = without_subnormal(sum);
  float total = std::fma(a, b, sum);
  if (std::fabs(total) > kSmallest || total == 0 || std::isnan(total)) return total;
  // Whether it is below the smallest normal number is seen with as many bits as those have.
  constexpr float kUp = 0x1p64f;
  if (std::fabs(a) < std::fabs(b)) std::swap(a, b);
  return std::fabs(std::fma(a, b * kUp, sum * kUp)) < kSmallest * kUp ? std::copysign(0.0f, total) : total;
}
#else
// x, whose exact value is x + rest, rounded to odd.
float to_odd(double x, double rest) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (std::isinf(x) || x == 0) return static_cast<float>(x);
  if (rest != 0 && std::signbit(rest) != std::signbit(x))
    x = std::nextafter(x, 0.0);  // what is cut off below must not be above
  constexpr uint64_t kCut = (uint64_t(1) << 29) - 1;
  uint64_t bits = std::bit_cast<uint64_t>(x);
  bool inexact = rest != 0 || (bits & kCut) != 0;
  float cut = static_cast<float>(std::bit_cast<double>(bits & ~kCut));  // exact, but outside of the range of floats
  if (std::isinf(cut)) return cut;
  if (std::fabs(cut) < kSmallest) return std::copysign(0.0f, cut);
  return inexact ? std::bit_cast<float>(std::bit_cast<uint32_t>(cut) | 1) : cut;
}

float add(float a, float b) {
  double x = without_subnormal(a), y = without_subnormal(b), sum = x + y;
  double part = sum - x, rest = std::isfinite(sum) ? (x - (sum - part)) + (y - part) : 0;
  return to_odd(sum, rest);
}

float multiply(scalar::BFloat16 a, scalar::BFloat16 b) { return to_odd(double(widened(a)) * widened(b), 0); }
#endif

}  // namespace

bool bf16_in_pairs() { return in_pairs().load(std::memory_order_relaxed); }

WithoutPairs::WithoutPairs() : before_(in_pairs().exchange(false)) {}
WithoutPairs::~WithoutPairs() { in_pairs().store(before_); }

float add_pair(float sum, scalar::BFloat16 a0, scalar::BFloat16 b0, scalar::BFloat16 a1, scalar::BFloat16 b1) {
#if defined(__x86_64__)
  return add_product(add_product(sum, widened(a1), widened(b1)), widened(a0), widened(b0));
#else
  return add(sum, add(multiply(a0, b0), multiply(a1, b1)));
#endif
}

}  // namespace sheaf::scalar

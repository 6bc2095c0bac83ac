#include "loop/pairs.h"

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

namespace sheaf::loop {

bool has_bf16_instructions() {
#if defined(__aarch64__)
  static const bool has = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
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

double without_subnormal(float x) { return std::fabs(x) < kSmallest ? std::copysign(0.0, double(x)) : x; }

// x, whose exact value is x + rest, rounded to odd.
float to_odd(double x, double rest) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (std::isinf(x) || x == 0) return static_cast<float>(x);
  if (rest != 0 && std::signbit(rest) != std::signbit(x)) x = std::nextafter(x, 0.0);  // what is cut off below must not be above
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

float multiply(scalar::BFloat16 a, scalar::BFloat16 b) {
  return to_odd(without_subnormal(scalar::convert<float>(a)) * without_subnormal(scalar::convert<float>(b)), 0);
}

}  // namespace

bool bf16_in_pairs() { return in_pairs().load(std::memory_order_relaxed); }

WithoutPairs::WithoutPairs() : before_(in_pairs().exchange(false)) {}
WithoutPairs::~WithoutPairs() { in_pairs().store(before_); }

float add_pair(float sum, scalar::BFloat16 a0, scalar::BFloat16 b0, scalar::BFloat16 a1, scalar::BFloat16 b1) {
  return add(sum, add(multiply(a0, b0), multiply(a1, b1)));
}

}  // namespace sheaf::loop

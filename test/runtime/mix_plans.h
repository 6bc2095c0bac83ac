// Random plans of small steps that reuse memory heavily; counts the runs that a device gets wrong.
#pragma once
#include <cstring>
#include <functional>
#include <random>

#include "runtime/cpu_runner.h"
#include "runtime/device_runner.h"
#include "runtime/hand_plan.h"

namespace sheaf::runtime {

inline constexpr int64_t kElements = 8, kBytes = kElements * 4;

// w[i] = 3 * a[i], then out[i] = w[i] + b[i] + c, in unsigned numbers and in this order. With `divisor` a check fails
// at an a[i] that is a multiple of it.
class Mix final : public CpuKernel {
 public:
  Mix(uint32_t c, uint32_t divisor) : c_(c), divisor_(divisor) {}
  int run(std::span<std::byte* const> b, std::span<const int64_t>, int64_t& payload) const override {
    const auto *x = reinterpret_cast<const uint32_t*>(b[0]), *y = reinterpret_cast<const uint32_t*>(b[1]);
    auto* out = reinterpret_cast<uint32_t*>(b[2]);
    int site = -1;
    uint32_t w[kElements];
    for (int64_t i = 0; i < kElements; ++i) {
      if (divisor_ && site < 0 && x[i] % divisor_ == 0) site = 1, payload = i;
      w[i] = 3 * x[i];
    }
    for (int64_t i = 0; i < kElements; ++i)
      out[i] = w[i] + y[i] + c_;
    return site;
  }

 private:
  uint32_t c_, divisor_;
};

// Creates such code for a device.
using MakeMix = std::function<std::shared_ptr<const Code>(uint32_t c, uint32_t divisor)>;
inline std::shared_ptr<const Code> mix_on_cpu(uint32_t c, uint32_t divisor) {
  return std::make_shared<Mix>(c, divisor);
}

class Random {
 public:
  explicit Random(uint64_t seed) : rng_(seed) {}
  int below(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 rng_;
};

// Plans of one device.
class MixPlans {
 public:
  explicit MixPlans(MakeMix make) : make_(std::move(make)) {}

  Launch mix(uint32_t c, Place a, Place b, Place out, uint32_t divisor = 0) const {
    Launch l = launch({{a, kBytes}, {b, kBytes}}, {{out, kBytes}});
    l.kernel = make_(c, divisor);
    l.buffers = {a, b, out};
    l.checks = divisor > 0;
    return l;
  }

  // Steps on arrays anywhere in scratch memory, which may overlap, some with checks; then others, some of which write
  // to the outputs. With `nests` some are plans inside a step.
  Plan random(uint64_t seed, bool nests) const;
  // carry' and a row of y from carry and a row of x, from row to row; some of it in scratch memory of the body.
  Plan scan(int64_t turns, bool reverse) const;

  static constexpr int kInputs = 3, kOutputs = 2;

 private:
  MakeMix make_;
};

// Runs a plan on a device a few times, with inputs on the host or the device, donated or not. Returns the number of
// results that differ from those of the same plan on the CPU. If a check fails, donated inputs must be unchanged.
int wrong_answers(const Plan& on_cpu, const Plan& there, Device& device, uint64_t seed);

Tensor random_numbers(Random& r, int64_t n = kElements);
Tensor on(Device& device, const Tensor& t);
bool equal(const Tensor& a, const Tensor& b);  // bit for bit, wherever they are

}  // namespace sheaf::runtime

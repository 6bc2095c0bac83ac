// Random compositions of ops: a program is a function of arrays [3, 5], the same for the same seed.
#pragma once
#include <vector>

#include "ops/apply.h"
#include "ops/random_tensors.h"

namespace sheaf::ops {

inline const Dims kProgramSizes = {3, 5};

// `smooth` leaves out steps with kinks and jumps. Values stay of moderate size.
class RandomProgram {
 public:
  RandomProgram(uint64_t seed, int steps, bool smooth) : seed_(seed), steps_(steps), smooth_(smooth) {}

  // The last few values that the steps computed.
  std::vector<Operand> operator()(const std::vector<Operand>& inputs) const {
    Rng rng(seed_);
    std::vector<Operand> pool = inputs;
    for (int i = 0; i < steps_; ++i) {
      // Recent values more often, so that chains grow.
      auto pick = [&] {
        return pool[pool.size() - 1 -
                    static_cast<size_t>(rng.below(std::min<int64_t>(4, static_cast<int64_t>(pool.size()))))];
      };
      Operand a = pick(), b = pick();
      pool.push_back(step(rng.below(smooth_ ? 15 : 22), a, b));
    }
    return {pool.end() - 2, pool.end()};
  }

 private:
  static Operand step(int64_t what, const Operand& a, const Operand& b) {
    Sizes sizes = to_sizes(kProgramSizes);
    Operand half = like(a, 0.5);
    switch (what) {
      case 0: return (a + b) * half;
      case 1: return apply1("tanh", a * b);
      case 2: return a - b * half;
      case 3: return apply1("sin", a);
      case 4: return apply1("exp", apply1("tanh", a));
      case 5: return a / (like(a, 1) + b * b);
      case 6: return apply1("tanh", a * sum(b, {1}, true));
      case 7: return apply1("cos", sum(a, {0}, true) + b);
      case 8: return swap_last_two(apply1("erf", swap_last_two(a) * swap_last_two(b)));
      case 9: return flip(a, 1) * half + b;
      case 10: return pad(slice_axis(a, 1, 1, 3), {0, 1}, {0, 1}, {0, 0}, 0.25) + b * half;
      case 11: return concat({slice_axis(a, 0, 1, 2), slice_axis(b, 0, 0, 1)}, 0);
      case 12: {
        Operand square = dot(expand_axis(a, 0), expand_axis(swap_last_two(b), 0));
        return apply1("tanh", squeeze_axis(dot(square, expand_axis(b, 0)), 0));
      }
      case 13: return apply1("tanh", cumulate(a, 1, 0)) + b * half;
      case 14: return reshape(reshape(a, {5, 3}) * half, sizes) + sum_all(b) * like(b, 0.1);
      case 15: return apply2("maximum", a, b);
      case 16: return where(less(a, b), a, b * half);
      case 17: return a - reduce("max", b, {1}, true);
      case 18: return cast(cast(a, DType::BF16), a.dtype()) + b;
      case 19: return sort(a, 1, false).values * half;
      case 20: {
        int64_t rows[] = {2, 0, 2};
        return take(a, tensor_of(DType::I64, {3}, rows), 0, "take", false) + b;
      }
      default: return apply1("abs", a) - broadcast_to(slice_axis(b, 0, 1, 1), sizes);
    }
  }

  uint64_t seed_;
  int steps_;
  bool smooth_;
};

}  // namespace sheaf::ops

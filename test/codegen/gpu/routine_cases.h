// Calls of a routine with a template, compared with its definition: all of a batch are compiled at once.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"
#include "scalar/scalar_ops.h"

namespace sheaf::codegen::gpu::testing {

using codegen::testing::Memory;

// One of some numbers.
struct Any {
  std::mt19937_64& rng;
  template <class... X>
  int64_t operator()(X... x) const {
    const int64_t all[] = {static_cast<int64_t>(x)...};
    return all[rng() % std::size(all)];
  }
};

// Numbers between `low` and `high`, now and then NaN, an infinity or a zero of either sign.
inline Memory random_memory(DType d, int64_t n, std::mt19937_64& rng, double low, double high) {
  Memory m{d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(n, 1) * size_bytes(d)))};
  scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < n; ++i) {
      constexpr double kSpecial[] = {NAN, -0.0, 0.0, HUGE_VAL, -HUGE_VAL};
      const double x = rng() % 512 == 0 && is_float(d) ? kSpecial[rng() % std::size(kSpecial)]
                                                       : std::uniform_real_distribution<double>(low, high)(rng);
      const T v = scalar::convert<T>(x);
      std::memcpy(m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
    }
  });
  return m;
}

template <class Args>
class RoutineCases {
 public:
  using Definition = void (*)(const routines::RoutineCall&, const Args&);
  using Emit = std::vector<EmittedLaunch> (*)(const Args&, const std::vector<int32_t>&, const std::string&, Helpers&);
  RoutineCases(Definition definition, Emit emit) : definition_(definition), emit_(emit) {}

  std::mt19937_64& rng() { return rng_; }
  // `places`: which memory is which buffer of the routine; all in order where it is empty.
  void add(std::string name, const Args& args, std::vector<Memory> memory, std::vector<int> places = {}) {
    for (size_t i = places.size(); places.size() < memory.size(); ++i)
      places.push_back(static_cast<int>(i));
    cases_.push_back({std::move(name), args, std::move(memory), std::move(places)});
  }

  void compare(TextProgram& batch) {
    for (const Case& c : cases_) {
      Entry e;
      std::vector<int32_t> numbers(c.places.begin(), c.places.end());
      ASSERT_TRUE(has_template(c.args)) << c.name;
      for (EmittedLaunch& l : emit_(c.args, numbers, batch.next_prefix(), batch.helpers()))
        e.program.steps.emplace_back(std::move(l));
      batch.add(std::move(e));
    }
    batch.compile();
    for (size_t i = 0; i < cases_.size(); ++i) {
      const Case& c = cases_[i];
      std::vector<Memory> expected = c.memory, actual = c.memory;
      std::vector<std::byte*> pointers;
      for (int place : c.places)
        pointers.push_back(expected[static_cast<size_t>(place)].bytes.data());
      definition_({pointers, {}}, c.args);
      loop::CheckRecord check;
      batch.run(i, regions(actual), {}, check, seed_ + i);
      ASSERT_EQ(codegen::testing::difference(expected, {}, actual, {}), "") << c.name << " SHEAF_SEED=" << seed_ << "\n"
                                                                            << batch.text_of(i);
    }
  }

 private:
  struct Case {
    std::string name;
    Args args;
    std::vector<Memory> memory;
    std::vector<int> places;
  };
  Definition definition_;
  Emit emit_;
  uint64_t seed_ = seed();
  std::mt19937_64 rng_{seed_};
  std::vector<Case> cases_;
};

}  // namespace sheaf::codegen::gpu::testing

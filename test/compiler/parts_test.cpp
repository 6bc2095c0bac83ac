// Arrays that are cut into parts, transformed and joined again: the bits do not depend on what the compiler computes
// part by part, joins or writes in place.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/pipeline.h"
#include "ops/random_tensors.h"
#include "trace/traced.h"
#include "value_graph.h"

namespace sheaf::compiler {
namespace {

using namespace ops;

// A function of arrays of equal sizes, determined by the seed: steps that cut arrays along an axis and join parts in
// some order, or stack whole arrays.
class Cutting {
 public:
  Cutting(uint64_t seed, Dims sizes) : seed_(seed), sizes_(std::move(sizes)) {}

  std::vector<Operand> operator()(const std::vector<Operand>& inputs) const {
    Rng rng(seed_);
    std::vector<Operand> pool = inputs;
    auto pick = [&] {
      return pool[pool.size() - 1 -
                  static_cast<size_t>(rng.below(std::min<int64_t>(3, static_cast<int64_t>(pool.size()))))];
    };
    for (int64_t steps = 2 + rng.below(5); steps > 0; --steps) {
      Operand a = pick(), b = pick();
      pool.push_back(rng.below(4) == 0 ? stacked(rng, a, b) : recombined(rng, a, b));
    }
    return {pool.end() - 2, pool.end()};
  }

 private:
  static Operand work(Rng& rng, const Operand& a, const Operand& b) {
    switch (rng.below(5)) {
      case 0: return a + b;
      case 1: return apply1("tanh", a) * b;
      case 2: return apply1("sigmoid", a + b);
      case 3: return a * like(a, -0.5);
      default: return a - sum(b, {b.rank() - 1}, true);
    }
  }

  Operand recombined(Rng& rng, const Operand& a, const Operand& b) const {
    int axis = static_cast<int>(rng.below(static_cast<int64_t>(sizes_.size())));
    // A chain before the cut, with a broadcast operand.
    Operand x = apply1("tanh", work(rng, a, b)) + slice_axis(b, axis, 0, 1);
    std::vector<Operand> parts;
    for (int64_t at = 0, n = sizes_[static_cast<size_t>(axis)]; at < n;) {
      int64_t size = 1 + rng.below(n - at);
      Operand p = slice_axis(x, axis, Size(at), Size(size));
      if (rng.below(4) > 0) p = work(rng, p, slice_axis(rng.below(2) ? a : x, axis, Size(at), Size(size)));
      parts.insert(parts.begin() + rng.below(static_cast<int64_t>(parts.size()) + 1), p);
      at += size;
    }
    return concat(std::move(parts), axis) * like(a, 0.5);
  }

  // Read again as one array: a new axis is as good a place to join as an old one.
  Operand stacked(Rng& rng, const Operand& a, const Operand& b) const {
    int axis = static_cast<int>(rng.below(static_cast<int64_t>(sizes_.size()) + 1));
    Operand x = work(rng, a, b), y = work(rng, b, a);
    Operand s = concat({expand_axis(x, axis), expand_axis(y, axis), expand_axis(x, axis)}, axis);
    return sum(s * s, {axis}) * like(a, 0.2) + y;
  }

  uint64_t seed_;
  Dims sizes_;
};

void expect_bits_of_tape(DType dtype, const Dims& sizes, uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> in{uniform_tensor(rng, dtype, sizes), uniform_tensor(rng, dtype, sizes)};
  Cutting program(seed, sizes);
  auto trained = [&](const std::vector<Operand>& xs) { return with_gradients(program, xs); };
  SCOPED_TRACE("SHEAF_SEED=" + std::to_string(seed));
  expect_same(values_of(trained({in[0], in[1]})), graph_of(in, trained), in);
}

TEST(Parts, GiveTheBitsOfTheTape) {
  trace::install();
  g_verify = true;
  const Dims shapes[] = {{6, 40}, {33, 5}, {2, 3, 24}, {64}, {4, 1, 32}};
  const DType dtypes[] = {DType::F32, DType::F64, DType::BF16};
  for (int trial = 0; trial < 300 && !testing::Test::HasFailure(); ++trial)
    expect_bits_of_tape(dtypes[trial % 3], shapes[trial % 5], test_seed() + static_cast<uint64_t>(trial));
}

// A per-row value must not be stored over an operand of rows that the same kernel reads later.
TEST(Parts, RowsAreReadBeforeTheyAreWrittenOver) {
  trace::install();
  expect_bits_of_tape(DType::F64, {4, 1, 32}, 1934234037);
}

// No copies remain: two gates of one product, cut, and both put into the next one's operand.
TEST(Parts, AreWrittenWhereTheyWillBe) {
  trace::install();
  Rng rng(1);
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 8, 64}), uniform_tensor(rng, DType::F32, {1, 64, 64}),
                         uniform_tensor(rng, DType::F32, {64})};
  Compiled code = compile(graph_of(in, [](const std::vector<Operand>& xs) {
    Operand y = dot(xs[0], xs[1]) + xs[2];
    Operand a = apply1("tanh", slice_axis(y, 2, 0, 32)), b = apply1("sigmoid", slice_axis(y, 2, 32, 32));
    return std::vector{dot(concat({b, a}, 2), xs[1])};
  }));
  std::vector<std::string> names;
  each_launch(code.plan(), [&](const runtime::Launch& l) { names.push_back(l.name); });
  EXPECT_EQ(names, (std::vector<std::string>{"dot [1, 8, 64] [1, 64, 64] [1, 8, 64]", "add+tanh [8, 32]",
                                             "add+sigmoid [8, 32]", "dot [1, 8, 64] [1, 64, 64] [1, 8, 64]"}));
}

}  // namespace
}  // namespace sheaf::compiler

// Prologues of products: the bits of the tape, whatever algorithm the product takes, and nothing is written over that
// is still to be read.
#include "fused_products.h"

namespace sheaf::compiler {
namespace {

using namespace ops;

using Prologue = FusedProducts;

// x minus its row's sum, times the given value for each column.
Operand centred(const Operand& x, const Operand& weights) { return (x - sum(x, {2}, true)) * weights; }

// Few and many columns, few and many k, more rows than are packed at a time, odd sizes: all algorithms of a product.
TEST_F(Prologue, GivesTheBitsOfTheTape) {
  const Shape shapes[] = {{1100, 300, 260}, {520, 900, 600}, {4100, 64, 70},   {9000, 33, 40},
                          {3000, 96, 300},  {600, 40, 1400}, {517, 1000, 515}, {2, 30, 140000},
                          {16, 500, 17000}, {90000, 3, 8},   {5000, 90, 513},  {1040, 20, 1040}};
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    Rng rng(test_seed());
    SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
    for (size_t i = 0; i < std::size(shapes); ++i) {
      auto [m, n, k] = shapes[i];
      runtime::set_num_threads(1 + static_cast<int>(i % 5));
      std::vector<Tensor> in{uniform_tensor(rng, dtype, {1, m, k}, -1, 1), uniform_tensor(rng, dtype, {1, k, n}, -1, 1),
                             uniform_tensor(rng, dtype, {k})};
      for (bool row : {false, true}) {
        Function f = [row](const std::vector<Operand>& x) {
          return std::vector{dot(row ? centred(x[0], x[2]) : apply1("tanh", x[0] * x[2]), x[1])};
        };
        EXPECT_TRUE(has_prologue(in, f)) << m << " " << n << " " << k;
        expect_bits_of_tape(in, f);
        if (HasFailure()) return;
      }
    }
  }
}

// A prologue and an epilogue of one product.
TEST_F(Prologue, ThreeKernelsInOne) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 2100, 130}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 130, 200}, -1, 1), uniform_tensor(rng, DType::F32, {130}),
                         uniform_tensor(rng, DType::F32, {1, 2100, 200})};
  for (int threads : {1, 2, 5}) {
    runtime::set_num_threads(threads);
    Function f = [](const std::vector<Operand>& x) {
      return std::vector{apply1("tanh", dot(centred(x[0], x[2]), x[1])) + x[3]};
    };
    EXPECT_TRUE(has_prologue(in, f));
    EXPECT_TRUE(has_epilogue(in, f));
    expect_bits_of_tape(in, f);
    // The epilogue reads another result of the prologue.
    Function residual = [](const std::vector<Operand>& x) {
      Operand total = sum(x[0], {2}, true);
      return std::vector{apply1("tanh", dot((x[0] - total) * x[2], x[1])) + total};
    };
    expect_bits_of_tape(in, residual);
  }
}

// An operand with other readers, the other factor among them, is materialized before the product.
TEST_F(Prologue, WhatIsReadTwiceStays) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 1100, 300}, -1, 1)};
  runtime::set_num_threads(2);
  Function square = [](const std::vector<Operand>& x) {
    Operand a = apply1("tanh", x[0]);
    return std::vector{dot(a, swap_last_two(a))};
  };
  EXPECT_FALSE(has_prologue(in, square));
  expect_bits_of_tape(in, square);
  Function kept = [](const std::vector<Operand>& x) {
    Operand a = apply1("tanh", x[0]);
    return std::vector{dot(a, swap_last_two(x[0])), a};
  };
  EXPECT_FALSE(has_prologue(in, kept));
  expect_bits_of_tape(in, kept);
  Function two = [](const std::vector<Operand>& x) {
    Operand a = apply1("tanh", x[0]);
    return std::vector{dot(a, swap_last_two(a * a))};
  };
  EXPECT_FALSE(has_prologue(in, two));
  expect_bits_of_tape(in, two);
}

// Its inputs are read until the last rows are computed: the product, twice as wide, takes other memory.
TEST_F(Prologue, WhatItReadsIsNotWrittenOver) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 4000, 40}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 40, 120}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 120, 240}, -1, 1), uniform_tensor(rng, DType::F32, {120})};
  runtime::set_num_threads(2);
  Function f = [](const std::vector<Operand>& x) {
    return std::vector{sum(dot(centred(dot(x[0], x[1]), x[3]), x[2]), {2})};
  };
  EXPECT_TRUE(has_prologue(in, f));
  expect_bits_of_tape(in, f);
}

// The epilogue writes over an array that the prologue reads in another order of rows: it must have other memory.
TEST_F(Prologue, AnEpilogueDoesNotWriteOverWhatItReads) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 4096, 64}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 4096, 64}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 64, 64}, -1, 1)};
  for (bool flipped : {false, true}) {
    Function f = [flipped](const std::vector<Operand>& x) {
      Operand h = concat({x[0], x[1]}, 1);
      return std::vector{dot(h + dot(apply1("tanh", flipped ? flip(h, 1) : h), x[2]), x[2])};
    };
    EXPECT_TRUE(has_prologue(in, f));
    EXPECT_TRUE(has_epilogue(in, f));
    expect_bits_of_tape(in, f);
  }
}

// The factor itself is never materialized.
TEST_F(Prologue, NeedsNoMemory) {
  Rng rng(1);
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 4000, 128}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 128, 64}, -1, 1)};
  Compiled code =
      compile(graph_of(in, [](const std::vector<Operand>& x) { return std::vector{dot(apply1("tanh", x[0]), x[1])}; }));
  EXPECT_LT(code.plan().scratch_bytes, 4096u);
}

TEST_F(Prologue, CanBeSwitchedOff) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 600, 640}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 640, 60}, -1, 1)};
  Function f = [](const std::vector<Operand>& x) { return std::vector{dot(apply1("tanh", x[0]), x[1])}; };
  EXPECT_TRUE(has_prologue(in, f));
  switch_pass("precede", false);
  EXPECT_FALSE(has_prologue(in, f));
  switch_pass("precede", true);
}

}  // namespace
}  // namespace sheaf::compiler

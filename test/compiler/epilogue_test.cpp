// Epilogues of products: the bits of the tape, whatever algorithm the product takes, and nothing is written over that
// the product still reads.
#include "fused_products.h"

namespace sheaf::compiler {
namespace {

using namespace ops;

using Epilogue = FusedProducts;

// Few and many rows, few and many k, few columns, odd sizes: all algorithms of a product.
TEST_F(Epilogue, GivesTheBitsOfTheTape) {
  const Shape shapes[] = {{64, 4100, 200}, {300, 900, 600}, {4100, 64, 70}, {3000, 96, 40}, {517, 600, 64},
                          {33, 8000, 520}, {2, 140000, 8},  {90000, 3, 8},  {600, 600, 24}};
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    Rng rng(test_seed());
    SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
    for (size_t i = 0; i < std::size(shapes); ++i) {
      auto [m, n, k] = shapes[i];
      runtime::set_num_threads(1 + static_cast<int>(i % 3));
      std::vector<Tensor> in{uniform_tensor(rng, dtype, {1, m, k}, -1, 1), uniform_tensor(rng, dtype, {1, n, k}, -1, 1),
                             uniform_tensor(rng, dtype, {n}), uniform_tensor(rng, dtype, {1, m, n}),
                             uniform_tensor(rng, dtype, {1, m, 1})};
      Function f = [](const std::vector<Operand>& x) {
        Operand y = dot(x[0], swap_last_two(x[1]));
        Operand h = apply1("tanh", y + x[2]);
        return std::vector{h * x[3] + x[4], h, y};
      };
      EXPECT_TRUE(has_epilogue(in, f)) << m << " " << n;
      expect_bits_of_tape(in, f);
      if (HasFailure()) return;
    }
  }
}

// A residual: the addend is a factor of the product, and nothing else reads it.
TEST_F(Epilogue, AFactorIsNotWrittenOver) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 520, 520}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 520, 520}, -1, 1)};
  // A transposed factor is read at the positions of other elements of the result.
  auto residual = [](bool left) -> Function {
    return [left](const std::vector<Operand>& x) {
      Operand h = apply1("tanh", x[0]), transposed = swap_last_two(h);
      return std::vector{dot(h + (left ? dot(transposed, x[1]) : dot(x[1], transposed)), x[0])};
    };
  };
  for (bool left : {false, true}) {
    EXPECT_TRUE(has_epilogue(in, residual(left)));
    expect_bits_of_tape(in, residual(left));
  }
  // Nor over a donated argument.
  Function g = [](const std::vector<Operand>& x) { return std::vector{x[0] + dot(x[1], swap_last_two(x[0]))}; };
  EXPECT_TRUE(has_epilogue(in, g));
  std::vector<Tensor> expected = values_of(g({in[0], in[1]}));
  uint8_t given_up[] = {1, 1};
  std::vector<Tensor> actual = run(compile(graph_of(in, g)), in, given_up);
  EXPECT_TRUE(same_bits(expected[0], actual[0]));
}

// Two products in one expression: the kernel is the epilogue of the second.
TEST_F(Epilogue, TheLastOfSeveralProducts) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 600, 100}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 100, 500}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 100, 500}, -1, 1)};
  // The epilogue reads the first product too: it may write over one of the two, not over both.
  for (bool gate_first : {false, true}) {
    Function gated = [=](const std::vector<Operand>& x) {
      Operand first = dot(x[0], x[1]), second = dot(x[0], x[2]);
      return std::vector{gate_first ? apply1("sigmoid", first) * second : apply1("sigmoid", second) * first};
    };
    EXPECT_TRUE(has_epilogue(in, gated));
    expect_bits_of_tape(in, gated);
  }
}

// The gradient's norm: blocks of elements that do not end with a row, with or without a remainder.
TEST_F(Epilogue, SumsOfAllElements) {
  Function f = [](const std::vector<Operand>& x) {
    Operand y = dot(swap_last_two(x[0]), x[1]);
    return std::vector{sum(y * y, {0, 1, 2}), y};
  };
  for (DType dtype : {DType::F32, DType::F64, DType::BF16})
    for (Shape s :
         {Shape{1000, 515, 64}, {768, 768, 64}, {4000, 100, 300}, {2048, 200, 3}, {513, 2048, 40}, {70, 6000, 520}}) {
      Rng rng(test_seed());
      SCOPED_TRACE("SHEAF_SEED=" + std::to_string(rng.seed));
      std::vector<Tensor> in{uniform_tensor(rng, dtype, {1, s.k, s.m}, -1, 1),
                             uniform_tensor(rng, dtype, {1, s.k, s.n}, -1, 1)};
      for (int threads : {1, 3}) {
        runtime::set_num_threads(threads);
        expect_bits_of_tape(in, f);
        if (HasFailure()) return;
      }
    }
  runtime::set_num_threads(2);
  Rng rng(1);
  // The packed second factor fits the L2 of any machine.
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 64, 3072}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 64, 768}, -1, 1)};
  EXPECT_TRUE(has_epilogue(in, f));
}

// The array written over the product is an output itself: no other memory is needed.
TEST_F(Epilogue, AnOutputIsMadeInItsPlace) {
  Rng rng(1);
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 600, 64}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 64, 600}, -1, 1)};
  Compiled code =
      compile(graph_of(in, [](const std::vector<Operand>& x) { return std::vector{apply1("tanh", dot(x[0], x[1]))}; }));
  EXPECT_EQ(code.plan().scratch_bytes, 0u);
}

// If elements are read in another order, or some twice, the step waits for the whole product.
TEST_F(Epilogue, OtherOrdersWait) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 600, 64}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 64, 600}, -1, 1)};
  Function transposed = [](const std::vector<Operand>& x) {
    Operand y = dot(x[0], x[1]);
    return std::vector{apply1("tanh", y) + swap_last_two(y)};
  };
  EXPECT_FALSE(has_epilogue(in, transposed));
  expect_bits_of_tape(in, transposed);
}

TEST_F(Epilogue, CanBeSwitchedOff) {
  Rng rng(test_seed());
  std::vector<Tensor> in{uniform_tensor(rng, DType::F32, {1, 600, 64}, -1, 1),
                         uniform_tensor(rng, DType::F32, {1, 64, 600}, -1, 1)};
  Function f = [](const std::vector<Operand>& x) { return std::vector{apply1("tanh", dot(x[0], x[1]))}; };
  EXPECT_TRUE(has_epilogue(in, f));
  switch_pass("follow", false);
  EXPECT_FALSE(has_epilogue(in, f));
  switch_pass("follow", true);
}

}  // namespace
}  // namespace sheaf::compiler

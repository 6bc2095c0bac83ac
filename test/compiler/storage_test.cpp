// Outputs take over the memory of arguments only if the caller donates them and nothing else reads them later.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ops/apply.h"
#include "ops/table.h"
#include "trace/traced.h"

namespace sheaf::compiler {
namespace {

using graph::Graph;
using graph::Node;
using graph::Operand;

class Donation : public ::testing::Test {
 protected:
  void SetUp() override { trace::install(); }
  Operand input(Dims sizes) {
    g_.inputs.push_back(make_ref<Node>(&ops::op("input"), graph::Attrs{}, std::vector<Operand>{},
                                       std::vector<graph::TensorType>{{DType::F32, to_sizes(sizes)}}));
    return Operand(g_.inputs.back(), 0);
  }
  static Tensor numbers(Dims sizes, float first) {
    Tensor t = empty_tensor(DType::F32, sizes);
    for (int64_t i = 0; i < t.num_elems(); ++i)
      t.data_mut<float>()[i] = first + static_cast<float>(i % 7);
    return t;
  }
  Graph g_;
};

TEST_F(Donation, AnUpdateIsWrittenOverTheArgument) {
  Operand p = input({100, 30}), d = input({100, 30});
  g_.outputs = {ops::sub(p, d)};
  Compiled code = compile(g_);
  Tensor x = numbers({100, 30}, 1), y = numbers({100, 30}, 0.5f);
  std::vector<Tensor> kept = run(code, std::vector{x, y});
  EXPECT_NE(kept[0].buffer.get(), x.buffer.get());
  uint8_t given_up[] = {1, 0};
  std::vector<Tensor> over = run(code, std::vector{x, y}, given_up);
  EXPECT_EQ(over[0].buffer.get(), x.buffer.get());
  EXPECT_EQ(over[0].data<float>()[8], kept[0].data<float>()[8]);
}

TEST_F(Donation, NotWhileAnotherLaunchStillReadsIt) {
  Operand p = input({64, 64});
  // The product reads p after the sum is written.
  Operand sum = ops::add(p, p);
  g_.outputs = {sum, ops::reduce("sum", ops::mul(ops::transpose(p, {1, 0}), sum), {0}, false)};
  Compiled code = compile(g_);
  Tensor x = numbers({64, 64}, 2);
  std::vector<Tensor> expected = run(code, std::vector{x});
  uint8_t given_up[] = {1};
  std::vector<Tensor> actual = run(code, std::vector{x}, given_up);
  for (size_t o = 0; o < 2; ++o)
    for (int64_t i = 0; i < expected[o].num_elems(); ++i)
      EXPECT_EQ(expected[o].data<float>()[i], actual[o].data<float>()[i]);
}

TEST_F(Donation, AFailedCheckLeavesArgumentsAlone) {
  Operand p = input({8, 4});
  g_.inputs.push_back(make_ref<Node>(&ops::op("input"), graph::Attrs{}, std::vector<Operand>{},
                                     std::vector<graph::TensorType>{{DType::I64, {Size(2)}}}));
  Operand index(g_.inputs.back(), 0);
  g_.outputs = {ops::add(p, p), ops::take(p, index, 0, "get", true)};
  Compiled code = compile(g_);
  Tensor x = numbers({8, 4}, 1);
  int64_t bad[] = {0, 99};
  Tensor i = tensor_of(DType::I64, {2}, bad);
  float before = x.data<float>()[5];
  uint8_t given_up[] = {1, 1};
  EXPECT_THROW(run(code, std::vector{x, i}, given_up), UserError);
  EXPECT_EQ(before, x.data<float>()[5]);
}

}  // namespace
}  // namespace sheaf::compiler

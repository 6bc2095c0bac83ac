// Batching rules of windows and random draws: a batch gives the results of its examples one by one. window and unwindow
// are adjoint.
#include <gtest/gtest.h>

#include "ops/random.h"
#include "ops/window.h"
#include "trace/traced.h"

namespace sheaf::ops {
namespace {

using graph::Attrs;
using graph::BatchCtx;

class Batch : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { trace::install(); }
};

Operand key() { return tensor_of(DType::U32, {2}, std::initializer_list<uint32_t>{0, 42}.begin()); }
Operand normals(Sizes sizes, DType dtype = DType::F32) {
  return reshape(draw("normal", reshape(key(), {1, 2}), num_elems(sizes), dtype), sizes);
}

std::vector<double> numbers(const Operand& x) {
  std::vector<double> out;
  for (int64_t i = 0; i < x.value().num_elems(); ++i)
    out.push_back(element_as_double(x.value(), i));
  return out;
}

void expect_batch_rule(std::string_view name, const std::vector<Operand>& inputs, const std::vector<bool>& batched,
                       const Attrs& attrs, double tolerance = 0) {
  Size batch = 0;
  for (size_t k = 0; k < inputs.size(); ++k)
    if (batched[k]) batch = inputs[k].size(0);
  BatchCtx c{op(name), attrs, inputs, batched, batch};
  Operand all = op(name).batch.rule(c)[0];
  for (int64_t i = 0; i < batch.value(); ++i) {
    std::vector<Operand> one;
    for (size_t k = 0; k < inputs.size(); ++k)
      one.push_back(batched[k] ? squeeze_axis(slice_axis(inputs[k], 0, i, 1), 0) : inputs[k]);
    Operand y = graph::apply(op(name), one, attrs);
    Operand row = squeeze_axis(slice_axis(all, 0, i, 1), 0);
    ASSERT_EQ(row.sizes(), y.sizes()) << name;
    std::vector<double> together = numbers(row), alone = numbers(y);
    for (size_t k = 0; k < alone.size(); ++k)
      EXPECT_NEAR(together[k], alone[k], tolerance) << name << " example " << i << ", element " << k;
  }
}

TEST_F(Batch, Windows) {
  Attrs attrs{{"size", Sizes{2, 3}}, {"stride", Sizes{2, 1}}, {"dilation", Sizes{1, 2}}};
  expect_batch_rule("window", {normals({3, 2, 5, 7})}, {true}, attrs);
  Attrs back{{"sizes", Sizes{5, 7}}, {"stride", Sizes{2, 1}}, {"dilation", Sizes{1, 2}}};
  expect_batch_rule("unwindow", {normals({3, 2, 2, 3, 2, 3})}, {true}, back);
}

// All examples share one of the factors, on either side. A product with one row sums in another order than one with
// several.
TEST_F(Batch, Products) {
  const double near = 1e-5;
  for (int64_t inner : {1, 2})
    for (Dims s : {Dims{2, 7, 5}, Dims{1, 7, 5}, Dims{3, 7, 1}, Dims{1, 0, 2}}) {
      int64_t m = s[0], k = s[1], n = s[2];
      expect_batch_rule("dot", {normals({4, inner, m, k}), normals({inner, k, n})}, {true, false}, {}, near);
      expect_batch_rule("dot", {normals({inner, m, k}), normals({4, inner, k, n})}, {false, true}, {}, near);
      expect_batch_rule("dot", {normals({4, inner, m, k}), normals({4, inner, k, n})}, {true, true}, {});
    }
}

TEST_F(Batch, Draws) {
  Operand keys = threefry(key(), constant_int(DType::I64, 0), 6);
  Operand batches = reshape(keys, {3, 2, 2});
  for (const char* what : {"uniform", "normal", "gumbel"})
    expect_batch_rule("draw", {batches}, {true}, {{"what", std::string(what)}, {"dtype", DType::F32}, {"n", Sizes{5}}});
  Operand starts = iota(6, DType::I64);
  expect_batch_rule("threefry", {batches, reshape(starts, {3, 2})}, {true, true}, {{"n", Sizes{4}}});
  expect_batch_rule("threefry", {batches, iota(2, DType::I64)}, {true, false}, {{"n", Sizes{4}}});
}

// <window(x), y> = <x, unwindow(y)>
TEST_F(Batch, WindowAndUnwindowAreAdjoint) {
  for (int64_t stride : {1, 2, 3})
    for (int64_t dilation : {1, 2}) {
      Operand x = normals({2, 9}, DType::F64);
      Operand w = window(x, {3}, {stride}, {dilation});
      Operand y = normals(w.sizes(), DType::F64);
      Operand back = unwindow(y, {9}, {stride}, {dilation});
      EXPECT_NEAR(numbers(sum_all(w * y))[0], numbers(sum_all(x * back))[0], 1e-12) << stride << " " << dilation;
    }
}

}  // namespace
}  // namespace sheaf::ops

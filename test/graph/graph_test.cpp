#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/op_def.h"
#include "graph/verify.h"
#include "support/error.h"

namespace sheaf::graph {
namespace {

const OpDef kOp{.name = "op"};

Ref<Node> node(std::vector<Operand> inputs = {}) {
  return make_ref<Node>(&kOp, Attrs{}, std::move(inputs), std::vector<TensorType>{{DType::F32, {Size(2)}}});
}

TEST(Attrs, CopiesShareUntilOneChanges) {
  Attrs a{{"axis", int64_t{1}}}, b = a;
  EXPECT_EQ(a, b);
  b.add("keepdims", true);
  EXPECT_EQ("{axis=1}", a.str());
  EXPECT_EQ("{axis=1, keepdims=true}", b.str());
  EXPECT_FALSE(a == b);
  EXPECT_EQ(a, (Attrs{{"axis", int64_t{1}}})) << "equal without being shared";
  EXPECT_EQ(Attrs{}, Attrs{});
  EXPECT_TRUE(Attrs{}.empty());
}

TEST(Operand, WithoutAnythingIsAnEmptyArray) {
  Operand none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(none.is_node());
  EXPECT_EQ(0, none.rank());
  EXPECT_FALSE(Operand(Tensor()));
  EXPECT_TRUE(Operand(zeros_tensor(DType::F32, {2})));
}

TEST(Operand, CopiesShareTheirConstant) {
  Operand a = zeros_tensor(DType::F32, {2, 3}), b = a;
  EXPECT_EQ(&a.value(), &b.value());
  EXPECT_EQ((Sizes{Size(2), Size(3)}), b.sizes());
  a = Operand(zeros_tensor(DType::I64, {}));
  EXPECT_EQ(DType::F32, b.dtype());
}

TEST(LiveNodes, AreThoseTheResultsNeedInOrderOfCreation) {
  Ref<Node> x = node(), unused = node(), y = node({Operand(x, 0)}), dead = node({Operand(y, 0)}),
            z = node({Operand(y, 0), Operand(x, 0)});
  Graph g{{x, unused}, {Operand(z, 0)}, {}};
  EXPECT_EQ((std::vector<Node*>{x.get(), unused.get(), y.get(), z.get()}), live_nodes(g));
  EXPECT_EQ((std::vector<Node*>{y.get(), z.get()}), live_nodes(g, y->id));
  EXPECT_TRUE(live_nodes(g, z->id + 1).empty());
}

TEST(LiveNodes, AListThatIsNotTrueIsNoticed) {
  Ref<Node> x = node(), y = node({Operand(x, 0)});
  Graph g{{x}, {Operand(y, 0)}, {}};
  g.nodes = live_nodes(g);
  verify(g);
  EXPECT_EQ(g.nodes, live_nodes(g));
  g.outputs = {Operand(x, 0)};
  EXPECT_ANY_THROW(verify(g));
}

}  // namespace
}  // namespace sheaf::graph

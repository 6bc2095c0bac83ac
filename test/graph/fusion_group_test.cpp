// Groups that the verifier of fusion groups accepts, and each rule that it enforces.
#include "graph/fusion_group.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/op_def.h"

namespace sheaf::graph {
namespace {

const OpDef kInput{.name = "input", .kind = OpKind::Structure};
const OpDef kMap{.name = "map", .kind = OpKind::Elementwise};
const OpDef kDot{.name = "product", .kind = OpKind::Contract};
const OpDef kSum{.name = "total", .kind = OpKind::Reduce};

Ref<Node> node(const OpDef& op, std::vector<Ref<Node>> inputs, Sizes sizes = {Size(4), Size(4)}) {
  std::vector<Operand> operands;
  for (const auto& n : inputs)
    operands.emplace_back(n, 0);
  return make_ref<Node>(&op, Attrs{}, std::move(operands), std::vector<TensorType>{{DType::F32, std::move(sizes)}});
}

FusionGroup kernel(FusionGroup::Kind kind, const Ref<Node>& n) {
  FusionGroup g;
  g.kind = kind;
  g.members = {{n.get(), false, SmallVec<int, 4>(n->inputs.size(), -1), true}};
  g.space = {Size(4), Size(4)};
  return g;
}

// h = the product of a map's result and w; its epilogue also reads y.
class Groups : public ::testing::Test {
 protected:
  Groups() {
    product_ = kernel(FusionGroup::Product, c_);
    product_.prologue = {kernel(FusionGroup::Map, a_)};
    product_.epilogue = {kernel(FusionGroup::Map, e_)};
  }
  void expect_rejected(const std::vector<FusionGroup>& groups, const std::string& why) {
    try {
      verify(g_, groups);
      ADD_FAILURE() << "accepted; " << why;
    } catch (const std::exception& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  }

  Ref<Node> x_ = node(kInput, {}), w_ = node(kInput, {}), y_ = node(kInput, {});
  Ref<Node> a_ = node(kMap, {x_}), c_ = node(kDot, {a_, w_}), e_ = node(kMap, {c_, y_});
  Graph g_{{x_, w_, y_}, {Operand(e_, 0)}, {}};
  FusionGroup product_;
};

TEST_F(Groups, OneByOneOrFusedAreAccepted) {
  verify(g_, {kernel(FusionGroup::Map, a_), kernel(FusionGroup::Single, c_), kernel(FusionGroup::Map, e_)});
  verify(g_, {product_});
  EXPECT_EQ(print({product_}),
            "group product {\n"
            "  prologue map { map! }\n"
            "  product!\n"
            "  epilogue map { map! }\n"
            "}\n");
}

TEST_F(Groups, EveryNodeIsInOneGroupAndMadeBeforeItIsRead) {
  expect_rejected({kernel(FusionGroup::Map, a_), kernel(FusionGroup::Single, c_)}, "is in no group");
  expect_rejected({kernel(FusionGroup::Map, a_), product_}, "a node is a member once");
  expect_rejected({kernel(FusionGroup::Single, c_), kernel(FusionGroup::Map, a_), kernel(FusionGroup::Map, e_)},
                  "made before it is read");
}

TEST_F(Groups, OnlyAProductHasFusedParts) {
  FusionGroup single = product_;
  single.kind = FusionGroup::Single;
  expect_rejected({single}, "only a product has fused parts");
}

TEST_F(Groups, APrologueMakesTheFirstFactorForTheProductAlone) {
  g_.outputs.emplace_back(a_, 0);
  expect_rejected({product_}, "for the product alone");
}

TEST_F(Groups, APrologueDoesNotMakeTheSecondFactor) {
  Ref<Node> a = node(kMap, {x_}), b = node(kMap, {a}), c = node(kDot, {b, a}), e = node(kMap, {c});
  g_.outputs = {Operand(e, 0)};
  FusionGroup g = kernel(FusionGroup::Product, c);
  g.prologue = {kernel(FusionGroup::Map, a)};
  g.prologue[0].members.push_back({b.get(), false, SmallVec<int, 4>(1, 0), true});
  expect_rejected({g, kernel(FusionGroup::Map, e)}, "does not make the second factor");
}

TEST_F(Groups, AnEpilogueReadsTheProductAndNothingOfThePrologue) {
  Ref<Node> stored = node(kMap, {x_}), factor = node(kMap, {stored}), c = node(kDot, {factor, w_}),
            e = node(kMap, {c, stored});
  g_.outputs = {Operand(e, 0)};
  FusionGroup g = kernel(FusionGroup::Product, c);
  g.prologue = {kernel(FusionGroup::Map, stored)};
  g.prologue[0].members.push_back({factor.get(), false, SmallVec<int, 4>(1, 0), true});
  g.epilogue = {kernel(FusionGroup::Map, e)};
  expect_rejected({g}, "reads nothing that the prologue makes");
  Ref<Node> other = node(kMap, {y_});
  g_.outputs = {Operand(c_, 0), Operand(other, 0)};
  product_.epilogue = {kernel(FusionGroup::Map, other)};
  expect_rejected({product_}, "an epilogue reads the product");
}

TEST_F(Groups, AnEpilogueAddsUpAllElementsOrNone) {
  Ref<Node> columns = node(kSum, {c_}, {Size(4)}), all = node(kSum, {c_}, {});
  g_.outputs = {Operand(all, 0)};
  product_.epilogue = {kernel(FusionGroup::Reduce, all)};
  verify(g_, {product_});
  g_.outputs = {Operand(columns, 0)};
  product_.epilogue = {kernel(FusionGroup::Reduce, columns)};
  expect_rejected({product_}, "all elements or none");
}

}  // namespace
}  // namespace sheaf::graph

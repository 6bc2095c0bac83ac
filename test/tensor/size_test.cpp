// Expressions are simplified so that expressions that are always equal are identical, and comparisons of them become
// facts.
#include "tensor/size.h"

#include <gtest/gtest.h>

#include "tensor/size_facts.h"

namespace sheaf {
namespace {

class SizeTest : public ::testing::Test {
 protected:
  SizeFacts facts;
  Size b = facts.add_symbol(3, 2), t = facts.add_symbol(12, 2), position = facts.add_symbol(5, 0);
};

TEST_F(SizeTest, EqualExpressionsAreTheSame) {
  EXPECT_TRUE((b * t * Size(8)).is_same(Size(4) * t * (Size(2) * b)));
  EXPECT_TRUE((b + t + Size(1)).is_same(Size(3) + t + b - Size(2)));
  EXPECT_TRUE(((t + Size(1)) * Size(4) - t * Size(4)).is_same(Size(4)));
  EXPECT_TRUE((t - t).is_same(Size(0)));
  EXPECT_TRUE((t * Size(0)).is_same(Size(0)));
}

TEST_F(SizeTest, ExactDivisionCancels) {
  EXPECT_TRUE(floor_div(b * t * Size(768), b * t * Size(12)).is_same(Size(64)));
  EXPECT_TRUE(floor_div(t * Size(6) + Size(4), Size(2)).is_same(t * Size(3) + Size(2)));
  EXPECT_TRUE(mod(b * t, t).is_same(Size(0)));
  EXPECT_FALSE(floor_div(t, Size(2)).is_const());
}

TEST_F(SizeTest, ValuesFollowTheSymbols) {
  std::vector<int64_t> values{7, 10, 0};
  EXPECT_EQ((b * t + Size(3)).eval(values), 73);
  EXPECT_EQ(floor_div(t, Size(4)).eval(values), 2);
  EXPECT_EQ(max(b, min(t, Size(9))).eval(values), 9);
}

TEST_F(SizeTest, WhatIsCertainIsNoFact) {
  SizeFacts::Use use(facts);
  EXPECT_FALSE(t == Size(1));
  EXPECT_FALSE(b * t == Size(0));
  EXPECT_TRUE(Size(1) < t);
  EXPECT_TRUE(t < t + Size(1));
  EXPECT_TRUE(facts.facts().empty());
}

TEST_F(SizeTest, AnswersOfThisCallAreFacts) {
  SizeFacts::Use use(facts);
  EXPECT_FALSE(b == t);
  EXPECT_FALSE(position == Size(0));
  EXPECT_TRUE(position < t);
  EXPECT_EQ(b.value(), 3);
  EXPECT_FALSE(b == t);  // asked before
  ASSERT_EQ(facts.facts().size(), 4u);
  auto agree = [&](std::vector<int64_t> values) {
    for (const SizeFact& f : facts.facts())
      if (!f.agrees(values)) return false;
    return true;
  };
  EXPECT_TRUE(agree({3, 12, 5}));
  EXPECT_TRUE(agree({3, 100, 99}));
  EXPECT_FALSE(agree({4, 12, 5}));   // b is not 3
  EXPECT_FALSE(agree({3, 3, 1}));    // b is t
  EXPECT_FALSE(agree({3, 12, 0}));   // position is 0
  EXPECT_FALSE(agree({3, 12, 12}));  // position is not below t
}

TEST_F(SizeTest, WithoutFactsDifferentExpressionsDiffer) { EXPECT_FALSE(b + Size(9) == t); }

}  // namespace
}  // namespace sheaf

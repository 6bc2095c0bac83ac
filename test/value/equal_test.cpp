#include "value/equal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "make_values.h"
#include "support/error.h"

namespace sheaf {
namespace {

using namespace testing_values;

TEST(LanguageEqual, TextAndNil) {
  EXPECT_TRUE(language_equal(S("k"), K("k")));
  EXPECT_FALSE(language_equal(S("k"), S("K")));
  EXPECT_FALSE(language_equal(S("1"), I(1)));
  EXPECT_FALSE(language_equal(D({}), S("1")));
  EXPECT_TRUE(language_equal(Value::nil(), Value::nil()));
  EXPECT_FALSE(language_equal(Value::nil(), I(0)));
}

TEST(LanguageEqual, Numbers) {
  EXPECT_TRUE(language_equal(I(2), F(2)));
  EXPECT_TRUE(language_equal(Value::boolean(true), I(1)));
  EXPECT_TRUE(language_equal(Value::boolean(true), Value::boolean(true)));
  EXPECT_FALSE(language_equal(F(NAN), F(NAN)));
  EXPECT_TRUE(language_equal(F(0.0f), F(-0.0f)));
  EXPECT_FALSE(language_equal(I(INT64_MAX), I(INT64_MAX - 1)));
  EXPECT_TRUE(language_equal(f32({1, 2}), T(DType::I32, {2}, {1, 2})));
  EXPECT_FALSE(language_equal(f32({1, 2}), f32({1, 3})));
  EXPECT_FALSE(language_equal(f32({2}), I(2)));
  EXPECT_TRUE(language_equal(T(DType::F32, {}, {2}), I(2)));
  EXPECT_FALSE(language_equal(T(DType::F64, {1}, {0.1}), f32({0.1})));
  EXPECT_TRUE(language_equal(traced(I(2), "int"), I(2)));
}

TEST(LanguageEqual, Lists) {
  EXPECT_TRUE(language_equal(L({I(1), S("a"), L({F(2)})}), L({I(1), K("a"), L({F(2)})})));
  EXPECT_FALSE(language_equal(L({I(1)}), L({F(1)})));
  EXPECT_FALSE(language_equal(L({f32({1})}), L({f32({1})})));
  EXPECT_FALSE(language_equal(L({D({})}), L({D({})})));
  EXPECT_FALSE(language_equal(L({I(1)}), I(1)));
  EXPECT_FALSE(language_equal(D({}), L({})));
  EXPECT_TRUE(language_equal(nested(200000), nested(200000)));
}

TEST(LanguageEqual, OthersAreErrors) {
  auto message = [](Value a, Value b) {
    try {
      language_equal(a, b);
    } catch (const UserError& e) {
      return e.message;
    }
    return std::string();
  };
  EXPECT_EQ(message(D({{"a", I(1)}}), I(1)), "Expected a number, got dict(1)");
  EXPECT_EQ(message(I(1), Tup({I(1)})), "Expected a number, got tuple(1)");
  EXPECT_EQ(message(fn("f"), fn("f")), "Expected a number, got function");
}

TEST(TreeEqual, TypesAndContents) {
  EXPECT_TRUE(tree_equal(D({{"a", L({I(1), f32({1, NAN})})}}), D({{"a", L({I(1), f32({1, NAN})})}})));
  EXPECT_FALSE(tree_equal(I(1), F(1)));
  EXPECT_FALSE(tree_equal(S("k"), K("k")));
  EXPECT_FALSE(tree_equal(L({}), Tup({})));
  EXPECT_TRUE(tree_equal(F(NAN), F(NAN)));
  EXPECT_FALSE(tree_equal(f32({0.0}), f32({-0.0})));
  EXPECT_FALSE(tree_equal(f32({1}), T(DType::I32, {1}, {1})));
  EXPECT_FALSE(tree_equal(f32({1}), T(DType::F32, {1, 1}, {1})));
  EXPECT_FALSE(tree_equal(D({{"a", I(1)}}), D({{"b", I(1)}})));
  Value f = fn("f");
  EXPECT_TRUE(tree_equal(f, f));
  EXPECT_FALSE(tree_equal(f, fn("f")));
  EXPECT_TRUE(tree_equal(nested(200000), nested(200000)));
  EXPECT_FALSE(tree_equal(nested(200000), nested(199999)));
  Tensor view = array(DType::F32, {3}, {3, 2, 1});
  view.strides[0] = -1;
  view.offset = 2;
  EXPECT_TRUE(tree_equal(Value::tensor(view), f32({1, 2, 3})));
}

TEST(Truthy, FalseThings) {
  for (const Value& v : {Value::boolean(false), Value::nil(), I(0), F(0), F(-0.0f), T(DType::F32, {}, {0}),
                         T(DType::Bool, {}, {0}), traced(I(0), "int")})
    EXPECT_FALSE(truthy(v));
  for (const Value& v :
       {Value::boolean(true), I(-1), F(NAN), S(""), L({}), D({}), f32({0}), T(DType::F32, {}, {2}), fn("")})
    EXPECT_TRUE(truthy(v));
}

}  // namespace
}  // namespace sheaf

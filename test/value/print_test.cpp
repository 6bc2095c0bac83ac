#include "value/print.h"

#include <gtest/gtest.h>

#include <cmath>

#include "make_values.h"

namespace sheaf {
namespace {

using namespace testing_values;

TEST(Print, Scalars) {
  EXPECT_EQ(render(I(42)), "42");
  EXPECT_EQ(render(I(-12)), "-12");
  EXPECT_EQ(render(I(INT64_MIN)), "-9223372036854775808");
  EXPECT_EQ(render(Value::boolean(true)), "true");
  EXPECT_EQ(render(Value::boolean(false)), "false");
  EXPECT_EQ(render(Value::nil()), "nil");
  EXPECT_EQ(render(K("axis")), ":axis");
  EXPECT_EQ(render(S("plain \"text\"")), "plain \"text\"");
  EXPECT_EQ(render(Value::marker()), "...");
}

TEST(Print, Floats) {
  EXPECT_EQ(float_text(2.5f), "2.5");
  EXPECT_EQ(float_text(3.0f), "3.0");
  EXPECT_EQ(float_text(-0.0f), "0.0");
  EXPECT_EQ(float_text(2.25f), "2.25");
  EXPECT_EQ(float_text(-3.0f), "-3.0");
  EXPECT_EQ(float_text(7.389056f), "7.389056");
  EXPECT_EQ(float_text(std::sqrt(2.0f)), "1.4142135");
  EXPECT_EQ(float_text(1.0f / 3), "0.33333334");
  EXPECT_EQ(float_text(1e-7f), "0.0000001");
  EXPECT_EQ(float_text(3e6f), "3000000.0");
  EXPECT_EQ(float_text(123456792.0f), "123456792.0");
  EXPECT_EQ(float_text(9.9e14f), "990000028057600.0");
  EXPECT_EQ(float_text(1e15f), "1000000000000000");
  EXPECT_EQ(float_text(-1e15f), "-1000000000000000");
  EXPECT_EQ(float_text(3.4028235e38f), "340282350000000000000000000000000000000");
  EXPECT_EQ(float_text(1e-45f), "0.000000000000000000000000000000000000000000001");
  EXPECT_EQ(float_text(NAN), "NaN");
  EXPECT_EQ(float_text(INFINITY), "inf");
  EXPECT_EQ(float_text(-INFINITY), "-inf");
}

TEST(Print, Containers) {
  EXPECT_EQ(render(L({})), "[]");
  EXPECT_EQ(render(Tup({})), "()");
  EXPECT_EQ(render(D({})), "{}");
  EXPECT_EQ(render(L({S("alpha"), I(2), S("b"), K("c")})), "['alpha', 2, 'b', :c]");
  EXPECT_EQ(render(L({S("a"), S(""), S("it's")})), "['a', '', 'it's']");
  EXPECT_EQ(render(Tup({S("a"), I(1)})), "(a, 1)");
  EXPECT_EQ(render(D({{"z", I(1)}, {"a", f32({1, 2})}, {"m", S("hi")}})), "{:a [1. 2.], :m hi, :z 1}");
  EXPECT_EQ(render(Tup({F(24), L({F(2), F(6)})})), "(24.0, [2.0, 6.0])");
  EXPECT_EQ(render(Tup({f32({9, 4}), T(DType::I32, {2}, {1, 2})})), "([9. 4.], [1 2])");
  EXPECT_EQ(render(L({f32({1, 2}), f32({3, 4})})), "[[1. 2.], [3. 4.]]");
  EXPECT_EQ(render(D({{"a", I(6)}, {"b", L({I(2), F(5)})}})), "{:a 6, :b [2, 5.0]}");
}

TEST(Print, MultilineContainers) {
  Value w = T(DType::F32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(render(D({{"w", w}, {"bias", f32({0, 1})}})), "{:bias [0. 1.],\n :w [[1. 2.]\n     [3. 4.]]}");
  EXPECT_EQ(render(L({I(1), w, I(2)})), "[1,\n [[1. 2.]\n  [3. 4.]],\n 2]");
  EXPECT_EQ(render(Tup({w})), "([[1. 2.]\n  [3. 4.]])");
  EXPECT_EQ(render(L({S("a\nb"), I(1)})), "['a\n b',\n 1]");
  EXPECT_EQ(render(L({D({{"k", w}})})), "[{:k [[1. 2.]\n      [3. 4.]]}]");
}

TEST(Print, KeyWidthIsInColumns) {
  Value w = T(DType::F32, {2, 1}, {1, 2});
  EXPECT_EQ(render(D({{"é", w}})), "{:é [[1.]\n     [2.]]}");
  EXPECT_EQ(render(D({{"重み", w}})), "{:重み [[1.]\n        [2.]]}");
  EXPECT_EQ(render(D({{"e\xCC\x81", w}})), "{:e\xCC\x81 [[1.]\n     [2.]]}");
}

TEST(Print, FunctionsAtomsAndTraces) {
  EXPECT_EQ(render(fn("loss")), "<fn:loss>");
  EXPECT_EQ(render(fn("")), "<function>");
  EXPECT_EQ(render(builtin("sum")), "<builtin:sum>");
  auto* a = new AtomObj;
  Value atom = Value::object(Tag::Atom, a);
  a->value = L({I(1), S("x")});
  EXPECT_EQ(render(atom), "<atom [1, 'x']>");
  a->value = L({atom, atom});
  EXPECT_EQ(render(atom), "<atom [<atom ...>, <atom ...>]>");
  a->value = Value::nil();
  EXPECT_EQ(render(traced(F(2), "float")), "2.0");
  EXPECT_EQ(render(L({traced(f32({1}), "f32[1]")})), "[[1.]]");
  EXPECT_EQ(render(traced(Value::nil(), "f32[2x3]")), "<f32[2x3]>");
}

TEST(Print, DeepNestingIsCut) {
  std::string s = render(nested(2000));
  EXPECT_EQ(s, std::string(2000, '[') + "1" + std::string(2000, ']'));
  s = render(nested(100000));
  EXPECT_EQ(s, std::string(2000, '[') + "..." + std::string(2000, ']'));
}

TEST(Print, TypeNames) {
  EXPECT_EQ(type_name(I(1)), "int");
  EXPECT_EQ(type_name(F(1)), "float");
  EXPECT_EQ(type_name(Value::boolean(true)), "bool");
  EXPECT_EQ(type_name(Value::nil()), "nil");
  EXPECT_EQ(type_name(S("")), "string");
  EXPECT_EQ(type_name(K("k")), "keyword");
  EXPECT_EQ(type_name(f32({1})), "tensor");
  EXPECT_EQ(type_name(L({})), "list");
  EXPECT_EQ(type_name(Tup({})), "tuple");
  EXPECT_EQ(type_name(D({})), "dict");
  EXPECT_EQ(type_name(fn("f")), "function");
  EXPECT_EQ(type_name(builtin("f")), "builtin");
  EXPECT_EQ(type_name(traced(Value::nil(), "float")), "float");
  EXPECT_EQ(type_name(traced(Value::nil(), "f32[2]")), "tensor");
  EXPECT_EQ(type_name(traced(I(1), "int")), "int");
}

TEST(Print, ShortText) {
  EXPECT_EQ(short_text(S("txt")), "\"txt\"");
  EXPECT_EQ(short_text(K("kw")), ":kw");
  EXPECT_EQ(short_text(Value::nil()), "nil");
  EXPECT_EQ(short_text(L({I(1), I(2), I(3)})), "list(3)");
  EXPECT_EQ(short_text(Tup({I(1)})), "tuple(1)");
  EXPECT_EQ(short_text(D({{"a", I(1)}, {"b", I(1)}})), "dict(2)");
  EXPECT_EQ(short_text(T(DType::F32, {2, 3}, {0, 0, 0, 0, 0, 0})), "f32[2x3]");
  EXPECT_EQ(short_text(fn("f")), "function");
  EXPECT_EQ(short_text(F(1.5f)), "1.5");
  EXPECT_EQ(short_text(I(7)), "7");
  EXPECT_EQ(short_text(traced(Value::nil(), "bf16[4]")), "bf16[4]");
}

TEST(Pretty, RoundsFractionsOnly) {
  EXPECT_EQ(pretty_text(F(3.14159265f), 4, 100), "3.142");
  EXPECT_EQ(pretty_text(F(12345.678f), 4, 100), "12346.0");
  EXPECT_EQ(pretty_text(F(0.000123456f), 3, 100), "0.000123");
  EXPECT_EQ(pretty_text(F(2.99999f), 4, 100), "3.0");
  EXPECT_EQ(pretty_text(F(0.5f), 4, 100), "0.5");
  EXPECT_EQ(pretty_text(f32({0.123456, 10}), 3, 100), "[0.123   10.]");
}

TEST(Pretty, BreaksLinesToFit) {
  std::vector<Value> many;
  for (int i = 0; i < 12; ++i)
    many.push_back(I(1000 + i));
  EXPECT_EQ(pretty_text(L(many), 4, 30),
            "[1000, 1001, 1002, 1003, 1004,\n 1005, 1006, 1007, 1008, 1009,\n 1010, 1011]");
  EXPECT_EQ(pretty_text(D({{"alpha", I(100)}, {"beta", I(200)}}), 4, 20), "{:alpha 100,\n :beta 200}");
  EXPECT_EQ(pretty_text(D({{"alpha", I(100)}, {"beta", I(200)}}), 4, 40), "{:alpha 100, :beta 200}");
}

}  // namespace
}  // namespace sheaf

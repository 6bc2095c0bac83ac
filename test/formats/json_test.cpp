#include "formats/json.h"

#include <cmath>

#include "make_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf::formats {
namespace {

using namespace testing_values;
constexpr JsonOptions kPlain{.tagged = false};

TEST(Json, Writes) {
  EXPECT_EQ(write_json(Value::nil()), "null");
  EXPECT_EQ(write_json(I(-3)), "-3");
  EXPECT_EQ(write_json(Value::boolean(true)), "true");
  EXPECT_EQ(write_json(F(0.1f)), "0.10000000149011612");
  EXPECT_EQ(write_json(F(3)), "3.0");
  EXPECT_EQ(write_json(F(-0.0f)), "-0.0");
  EXPECT_EQ(write_json(F(1e20f)), "1.0000000200408773e+20");
  EXPECT_EQ(write_json(F(NAN)), "null");
  EXPECT_EQ(write_json(F(INFINITY)), "null");
  EXPECT_EQ(write_json(S("a\"b\n\x01é")), "\"a\\\"b\\n\\u0001é\"");
  EXPECT_EQ(write_json(L({I(1), S("a")})), "[1,\"a\"]");
  EXPECT_EQ(write_json(D({{"b", I(1)}, {"a", L({})}})), "{\"a\":[],\"b\":1}");
  EXPECT_EQ(write_json(K("k")), "{\"__keyword\":\"k\"}");
  EXPECT_EQ(write_json(Tup({I(1), F(2)})), "{\"__tuple\":[1,2.0]}");
  EXPECT_EQ(write_json(T(DType::F32, {2, 1}, {1, 0.5})),
            "{\"__tensor\":true,\"data\":[1.0,0.5],\"dtype\":\"f32\",\"shape\":[2,1]}");
  EXPECT_EQ(write_json(T(DType::I32, {}, {4})), "{\"__tensor\":true,\"data\":[4],\"dtype\":\"i32\",\"shape\":[]}");
  EXPECT_EQ(message_of([] { write_json(Value::marker()); }), "cannot serialize ellipsis");
}

TEST(Json, WritesForOtherPrograms) {
  EXPECT_EQ(write_json(F(0.1f), kPlain), "0.1");
  EXPECT_EQ(write_json(D({{"k", K("v")}, {"t", Tup({I(1)})}}), kPlain), "{\"k\":\"v\",\"t\":[1]}");
  EXPECT_EQ(write_json(T(DType::F32, {2, 2}, {1, 2, 3, 4.5}), kPlain), "[[1.0,2.0],[3.0,4.5]]");
  EXPECT_EQ(write_json(T(DType::Bool, {2}, {1, 0}), kPlain), "[true,false]");
  EXPECT_EQ(write_json(T(DType::I64, {}, {7}), kPlain), "7");
}

TEST(Json, Reads) {
  EXPECT_TRUE(tree_equal(parse_json(" [1, 1.0, 1e3, true, null, \"a\"] "),
                         L({I(1), F(1), F(1000), Value::boolean(true), Value::nil(), S("a")})));
  EXPECT_TRUE(tree_equal(parse_json("{\"a\":{},\"a\":2}"), D({{"a", I(2)}})));
  EXPECT_TRUE(tree_equal(parse_json("9223372036854775807"), I(INT64_MAX)));
  EXPECT_TRUE(tree_equal(parse_json("18446744073709551615"), F(18446744073709551615.0f)));
  EXPECT_TRUE(tree_equal(parse_json("{\"__keyword\":\"k\"}", kPlain), D({{"__keyword", S("k")}})));
  EXPECT_TRUE(tree_equal(parse_json("{\"data\":[1.5,2]}"), D({{"data", L({F(1.5f), I(2)})}})));
  Value t = parse_json("{\"shape\":[2],\"dtype\":\"f32\",\"data\":[null,true],\"__tensor\":true}");
  EXPECT_TRUE(tree_equal(t, T(DType::F32, {2}, {NAN, 1})));
}

TEST(Json, RoundTrip) {
  std::vector<Value> tensors;
  for (DType d : kAllTypes)
    tensors.push_back(T(d, {2, 2}, {0, 1, 0.1, 100}));
  int64_t big[] = {INT64_MAX, INT64_MIN};
  tensors.push_back(Value::tensor(tensor_of(DType::I64, {2}, big)));
  Value v = D({{"t", L(tensors)},
               {"k", K("kw")},
               {"u", Tup({Tup({}), Value::nil()})},
               {"f", F(0.1f)},
               {"s", S("é\t")},
               {"i", I(INT64_MIN)},
               {"empty", T(DType::F32, {0, 3}, {})}});
  Value back = parse_json(write_json(v));
  EXPECT_TRUE(tree_equal(v, back)) << render(back);
}

TEST(Json, Errors) {
  auto error = [](std::string text) { return message_of([&] { parse_json(text); }); };
  EXPECT_EQ(error("[1,").substr(0, 36), "parse error at line 1, column 4: syn");
  EXPECT_EQ(error("").substr(0, 12), "parse error ");
  EXPECT_EQ(error("1 2").substr(0, 12), "parse error ");
  EXPECT_EQ(error("\"\xff\"").substr(0, 12), "parse error ");
  EXPECT_EQ(error(std::string(100000, '[')), "JSON nested deeper than 1000 levels");
  EXPECT_EQ(error(std::string(1000, '[') + std::string(1000, ']')), "no error");
  EXPECT_EQ(error("{\"__tensor\":true}"), "a \"__tensor\" needs \"data\", \"dtype\" and \"shape\"");
  EXPECT_EQ(error("{\"__tensor\":true,\"data\":[1],\"dtype\":\"f32\",\"shape\":[2]}"),
            "a tensor of shape [2] has 1 elements");
  EXPECT_EQ(error("{\"__tensor\":true,\"data\":[1],\"dtype\":\"q\",\"shape\":[1]}"), "unsupported dtype 'q'");
  EXPECT_EQ(error("{\"__tensor\":true,\"data\":[\"x\"],\"dtype\":\"f32\",\"shape\":[1]}"),
            "a tensor's data holds \"x\"");
  EXPECT_EQ(error("{\"__tensor\":true,\"data\":[],\"dtype\":\"f32\",\"shape\":[-1]}"), "a tensor's shape holds -1");
  Value deep = I(1);
  for (int i = 0; i < 5000; ++i)
    deep = L({deep});
  EXPECT_EQ(message_of([&] { write_json(deep); }), "cannot serialize values nested deeper than 1000 levels");
}

}  // namespace
}  // namespace sheaf::formats

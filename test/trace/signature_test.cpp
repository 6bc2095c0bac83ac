#include "trace/signature.h"

#include <gtest/gtest.h>

#include "common/make_values.h"

namespace sheaf::trace {
namespace {

using namespace testing_values;

Signature signature(const Value& v, bool owned = false) {
  Signature s;
  add_to_signature(v, s, owned);
  return s;
}
bool same_key(const Value& a, const Value& b) {
  CallKey x = signature(a).key, y = signature(b).key;
  EXPECT_TRUE(!(x == y) || KeyHash()(x) == KeyHash()(y));
  return x == y;
}
bool same_form(const Value& a, const Value& b) { return signature(a).key.form == signature(b).key.form; }
Value ones(Dims sizes, DType dtype = DType::F32) {
  return Value::tensor(array(dtype, sizes, std::vector<double>(static_cast<size_t>(checked_num_elems(sizes)), 1)));
}

TEST(Signature, ValuesOfNumbersAndArraysAreData) {
  EXPECT_TRUE(same_key(I(1), I(2)));
  EXPECT_TRUE(same_key(F(1), F(2)));
  EXPECT_TRUE(same_key(T(DType::F32, {2}, {1, 2}), T(DType::F32, {2}, {3, 4})));
  EXPECT_FALSE(same_key(I(1), F(1)));
  EXPECT_FALSE(same_key(I(1), ones({})));
}

TEST(Signature, WhatDecidesThePathIsPartOfTheKey) {
  EXPECT_FALSE(same_key(Value::boolean(true), Value::boolean(false)));
  EXPECT_FALSE(same_key(S("a"), S("b")));
  EXPECT_FALSE(same_key(S("a"), K("a")));
  EXPECT_TRUE(same_key(S("a"), S("a")));
  EXPECT_FALSE(same_key(L({I(1)}), Tup({I(1)})));
  EXPECT_FALSE(same_key(L({I(1)}), L({I(1), I(1)})));
  EXPECT_FALSE(same_key(L({L({I(1)}), I(1)}), L({I(1), L({I(1)})})));
  EXPECT_FALSE(same_key(D({{"a", I(1)}}), D({{"b", I(1)}})));
  EXPECT_TRUE(same_key(D({{"a", I(1)}, {"b", F(2)}}), D({{"b", F(0)}, {"a", I(0)}})));
}

TEST(Signature, DtypesRanksAndSizesOfArrays) {
  EXPECT_FALSE(same_key(ones({2, 3}), ones({2, 3}, DType::F64)));
  EXPECT_FALSE(same_form(ones({2, 3}), ones({2, 3}, DType::F64)));
  EXPECT_FALSE(same_form(ones({6}), ones({2, 3})));
  EXPECT_FALSE(same_key(ones({2, 3}), ones({3, 2})));
  EXPECT_TRUE(same_form(ones({2, 3}), ones({3, 2})));
  EXPECT_EQ(KeyHash()(signature(ones({2, 3})).key.form), KeyHash()(signature(ones({5, 7})).key.form));
}

TEST(Signature, LeavesAndSizesInOrder) {
  Value tree = L({ones({2, 3}), I(7), D({{"w", ones({5})}, {"name", S("x")}}), F(0.5f)});
  Signature s = signature(tree);
  ASSERT_EQ(s.leaves.size(), 4u);
  EXPECT_EQ(s.leaves[1]->as_int(), 7);
  EXPECT_EQ(s.leaves[3]->as_float(), 0.5f);
  EXPECT_EQ(s.key.sizes, (SmallVec<int64_t, 24>{2, 3, 5}));
  std::vector<SizeSlot> slots = s.slots();
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[1].leaf, 0u);
  EXPECT_EQ(slots[1].axis, 1u);
  EXPECT_EQ(slots[2].leaf, 2u);
  EXPECT_EQ(slots[2].axis, 0u);
  EXPECT_TRUE(s.has_tensor);
  EXPECT_EQ(s.num_elems, 11);
  EXPECT_FALSE(signature(L({I(1)})).has_tensor);
  int next = 0;
  auto number = [&](const Value&) { return I(next++); };
  Value numbered = replace_leaves(tree, number);
  EXPECT_EQ(numbered.items()[0].as_int(), 0);
  EXPECT_EQ(numbered.items()[2].as_dict().find(Name("w"))->as_int(), 2);
  EXPECT_EQ(numbered.items()[2].as_dict().find(Name("name"))->as_string(), "x");
}

TEST(Signature, OnlyWhatNobodyElseHoldsIsOwned) {
  Value held = ones({2}), list = L({held, ones({3})});
  Signature s = signature(list, true);
  EXPECT_FALSE(s.owned[0]);
  EXPECT_TRUE(s.owned[1]);
  Value again = list;
  EXPECT_FALSE(signature(list, true).owned[1]);
  EXPECT_FALSE(signature(ones({3}), false).owned[0]);
}

TEST(Signature, WhatCannotBeAnInput) {
  EXPECT_FALSE(signature(L({ones({2}), Value::object(Tag::Atom, new AtomObj)})).traceable);
  Value deep = ones({2});
  for (int i = 0; i <= kMaxInputDepth; ++i)
    deep = L({deep});
  EXPECT_FALSE(signature(deep).traceable);
  EXPECT_TRUE(signature(deep.items()[0]).traceable);
  EXPECT_FALSE(signature(L(std::vector<Value>(70'000, I(1)))).traceable);
}

TEST(FunctionKey, EveryFieldTellsApart) {
  FunctionKey plain{7, {}};
  auto differs = [&](FunctionKey k) { return !(k == plain) && KeyHash()(k) != KeyHash()(plain); };
  EXPECT_TRUE(plain == (FunctionKey{7, {}}));
  EXPECT_TRUE(differs({8, {}}));
  EXPECT_TRUE(differs({7, {.kind = Purpose::Gradient}}));
  EXPECT_TRUE(differs({7, {.contractions = DType::BF16}}));
  EXPECT_TRUE(differs({7, {.value = true}}));
  EXPECT_TRUE(differs({7, {.has_aux = true}}));
  EXPECT_TRUE(differs({7, {.single = true}}));
  EXPECT_TRUE(differs({7, {.argnums = {0}}}));
  EXPECT_FALSE((FunctionKey{7, {.argnums = {0}}}) == (FunctionKey{7, {.argnums = {1}}}));
}

TEST(CallForm, ADeviceHasCodeOfItsOwn) {
  CallForm host = signature(ones({2})).key.form, device = host;
  device.target = static_cast<runtime::TargetId>(1);
  EXPECT_FALSE(host == device);
  EXPECT_NE(KeyHash()(host), KeyHash()(device));
}

}  // namespace
}  // namespace sheaf::trace

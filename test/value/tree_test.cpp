#include "value/tree.h"

#include <gtest/gtest.h>

#include <random>

#include "make_values.h"
#include "value/equal.h"
#include "value/print.h"

namespace sheaf {
namespace {

using namespace testing_values;

// A function that closed over values.
struct Closing final : FunctionObj {
  uint64_t code;
  std::vector<Value> values;
  std::string no_name;
  Closing(uint64_t c, std::vector<Value> v) : code(c), values(std::move(v)) {}
  const std::string& name() const override { return no_name; }
  uint64_t code_number() const override { return code; }
  const std::vector<Value>* captured() const override { return &values; }
  Value with_captured(std::vector<Value> v) const override {
    return Value::object(Tag::Function, new Closing(code, std::move(v)));
  }
};
Value closing(uint64_t code, std::vector<Value> values) {
  return Value::object(Tag::Function, new Closing(code, std::move(values)));
}

std::string leaves_text(const Value& tree, Nodes nodes) {
  std::string out;
  LeafCursor leaves(tree, nodes);
  while (const Value* v = leaves.next())
    out += leaves.path().text() + "=" + (v->is_callable() ? "fn" : render(*v)) + " ";
  return out;
}

TEST(Tree, LeavesComeDepthFirstInKeyOrder) {
  Value tree = D({{"b", I(1)}, {"a", L({I(2), Tup({I(3), S("x")}), D({{"k", K("y")}})})}, {"c", L({})}});
  EXPECT_EQ(leaves_text(tree, Nodes::Sequences), "a.0=2 a.1.0=3 a.1.1=x a.2.k=:y b=1 ");
  EXPECT_EQ(leaves_text(tree, Nodes::Lists), "a.0=2 a.1=(3, x) a.2.k=:y b=1 ");
  EXPECT_EQ(leaves_text(I(7), Nodes::Sequences), "=7 ");
  EXPECT_EQ(leaves_text(L({}), Nodes::Sequences), "");
  EXPECT_EQ(leaves_text(Value::nil(), Nodes::Sequences), "=nil ");
}

TEST(Tree, FunctionsAreContainersOnlyWhenAskedFor) {
  Value tree = L({closing(1, {I(2), closing(3, {I(4)})}), closing(5, {})});
  EXPECT_EQ(leaves_text(tree, Nodes::Sequences), "0=fn 1=fn ");
  EXPECT_EQ(leaves_text(tree, Nodes::Closures), "0.0=2 0.1.0=4 1=fn ");
  Value doubled = map_leaves(tree, [](const Value& v) { return v.is_int() ? I(2 * v.as_int()) : v; }, Nodes::Closures);
  EXPECT_EQ(leaves_text(doubled, Nodes::Closures), "0.0=4 0.1.0=8 1=fn ");
  EXPECT_EQ(leaves_text(tree, Nodes::Closures), "0.0=2 0.1.0=4 1=fn ");
}

Value random_tree(std::mt19937& rng, int depth) {
  switch (depth == 0 ? 0 : rng() % 5) {
    case 0: return I(static_cast<int64_t>(rng() % 100));
    case 1: return rng() % 2 ? S("text") : T(DType::F32, {2}, {1, 2});
    case 2:
    case 3: {
      std::vector<Value> items;
      for (uint32_t i = rng() % 4; i > 0; --i)
        items.push_back(random_tree(rng, depth - 1));
      return rng() % 2 ? L(std::move(items)) : Tup(std::move(items));
    }
    default: {
      std::vector<DictEntry> entries;
      for (uint32_t i = rng() % 4; i > 0; --i)
        entries.push_back({Name("k" + std::to_string(rng() % 9)), random_tree(rng, depth - 1)});
      return make_dict(std::move(entries));
    }
  }
}

TEST(Tree, IsPutTogetherAsItWas) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 rng(seed);
    Value tree = random_tree(rng, 5);
    for (Nodes nodes : {Nodes::Lists, Nodes::Sequences, Nodes::Closures}) {
      FlatTree flat = flatten(tree, nodes);
      EXPECT_EQ(flat.structure.num_leaves(), flat.leaves.size());
      FlatTree again = flatten(tree, nodes);
      EXPECT_TRUE(flat.structure == again.structure) << "seed " << seed;
      EXPECT_EQ(render(flat.structure.build(flat.leaves)), render(tree)) << "seed " << seed;
      size_t visited = 0;
      each_leaf(tree, [&](const Value& v) { EXPECT_EQ(render(v), render(again.leaves[visited++])); }, nodes);
      EXPECT_EQ(visited, again.leaves.size());
    }
  }
}

TEST(Tree, StructuresTellContainersApartAndNotLeaves) {
  auto same = [](const Value& a, const Value& b) {
    return flatten(a, Nodes::Closures).structure == flatten(b, Nodes::Closures).structure;
  };
  EXPECT_TRUE(same(I(1), S("x")));
  EXPECT_TRUE(same(L({I(1), Value::nil()}), L({T(DType::F32, {1}, {3}), K("k")})));
  EXPECT_TRUE(same(D({{"a", I(1)}}), D({{"a", I(2)}})));
  EXPECT_TRUE(same(closing(1, {I(1)}), closing(1, {I(2)})));
  EXPECT_FALSE(same(L({I(1)}), I(1)));
  EXPECT_FALSE(same(L({I(1)}), Tup({I(1)})));
  EXPECT_FALSE(same(L({I(1)}), L({I(1), I(1)})));
  EXPECT_FALSE(same(L({L({I(1)}), I(2)}), L({I(1), L({I(2)})})));
  EXPECT_FALSE(same(D({{"a", I(1)}}), D({{"b", I(1)}})));
  EXPECT_FALSE(same(D({{"a", I(1)}}), L({I(1)})));
  EXPECT_FALSE(same(L({}), empty_dict()));
  EXPECT_FALSE(same(closing(1, {I(1)}), closing(2, {I(1)})));
}

// Adds ints place by place; containers that differ become text.
Value added(const std::vector<Value>& trees, Nodes nodes) {
  return zip_trees(trees, nodes,
                   [&](std::span<const Value* const> parts, const TreePath& path) -> std::optional<Value> {
                     int64_t sum = 0;
                     for (const Value* v : parts)
                       sum += v->is_int() ? v->as_int() : 1000;
                     if (sum < 1000) return I(sum);
                     for (const Value* v : parts)
                       if (!same_container(*parts[0], *v, nodes)) return S("differ at " + path.text());
                     return std::nullopt;
                   });
}

TEST(Tree, NestsWithoutLimit) {
  constexpr int kDepth = 300'000;
  Value deep = nested(kDepth);
  EXPECT_TRUE(all_leaves(deep, [](const Value& v) { return v.as_int() == 1; }));
  Value other = map_leaves(deep, [](const Value&) { return I(2); });
  LeafCursor leaves(other);
  EXPECT_EQ(leaves.next()->as_int(), 2);
  EXPECT_EQ(leaves.path().steps().size(), static_cast<size_t>(kDepth));
  Value both = added({deep, other}, Nodes::Sequences);
  EXPECT_TRUE(all_leaves(both, [](const Value& v) { return v.as_int() == 3; }));
  EXPECT_EQ(leaves.next(), nullptr);
}

TEST(Tree, AWalkMayHaveALimit) {
  Value five = nested(5);
  LeafCursor fits(five, Nodes::Sequences, 5);
  EXPECT_NE(fits.next(), nullptr);
  EXPECT_EQ(fits.next(), nullptr);
  EXPECT_FALSE(fits.too_deep());
  Value six = nested(6);
  LeafCursor deeper(six, Nodes::Sequences, 5);
  EXPECT_EQ(deeper.next(), nullptr);
  EXPECT_TRUE(deeper.too_deep());
}

static_assert(!std::is_constructible_v<LeafCursor, Value> && std::is_constructible_v<LeafCursor, const Value&>);

TEST(Tree, SeveralAreWalkedTogether) {
  Value a = D({{"a", L({I(1), Tup({I(2)}), L({})})}, {"b", I(3)}}),
        b = D({{"a", L({I(10), Tup({I(20)}), L({})})}, {"b", I(30)}});
  EXPECT_EQ(render(added({a, b}, Nodes::Sequences)), render(D({{"a", L({I(11), Tup({I(22)}), L({})})}, {"b", I(33)}})));
  EXPECT_EQ(render(added({a}, Nodes::Sequences)), render(a));
  EXPECT_EQ(render(added({a, b, a}, Nodes::Lists)),
            render(D({{"a", L({I(12), S("differ at a.1"), L({})})}, {"b", I(36)}})));
  EXPECT_EQ(render(added({I(1), I(2)}, Nodes::Lists)), "3");
  EXPECT_EQ(render(added({L({I(1), L({I(2), I(3)})}), L({I(1), L({I(2)})})}, Nodes::Sequences)),
            render(L({I(2), S("differ at 1")})));
  EXPECT_EQ(render(added({a, D({{"a", I(1)}})}, Nodes::Sequences)), "differ at ");
  EXPECT_EQ(leaves_text(added({closing(1, {I(2)}), closing(1, {I(3)})}, Nodes::Closures), Nodes::Closures), "0=5 ");
  EXPECT_EQ(render(added({closing(1, {I(2)}), closing(2, {I(3)})}, Nodes::Closures)), "differ at ");
}

TEST(Tree, OthersMayHaveMoreKeys) {
  const std::vector<Value> trees = {D({{"a", I(1)}, {"c", I(2)}}), D({{"a", I(10)}, {"b", I(5)}, {"c", I(20)}})};
  Value out = zip_trees(trees, Nodes::Lists, [](std::span<const Value* const> parts, const TreePath&) {
    return parts[0]->is_int() ? std::optional(I(parts[0]->as_int() + parts[1]->as_int())) : std::nullopt;
  });
  EXPECT_EQ(render(out), render(D({{"a", I(11)}, {"c", I(22)}})));
}

TEST(Tree, ASearchEndsAtTheFirstThatFails) {
  int looked = 0;
  Value tree = L({I(1), L({S("stop")}), I(2)});
  EXPECT_FALSE(all_leaves(tree, [&](const Value& v) { return ++looked, v.is_int(); }));
  EXPECT_EQ(looked, 2);
}

}  // namespace
}  // namespace sheaf

// Unshared containers change in place; shared ones are left alone.
#include "builtins/call.h"
#include "builtins/data/families.h"
#include "value/dict.h"

namespace sheaf::builtins {
namespace {

Value kw(const char* s) { return Value::keyword(Name(s)); }

TEST(InPlace, AppendToAnUnsharedList) {
  Value xs = ints({1});
  const Object* before = xs.object();
  Value ys = call_in(sequence_builtins(), "append", values(std::move(xs), Value::integer(2)));
  EXPECT_EQ(ys.object(), before);
  EXPECT_EQ(render(ys), "[1, 2]");
}

TEST(InPlace, AppendToASharedList) {
  Value xs = ints({1});
  Value ys = call_in(sequence_builtins(), "append", values(xs, Value::integer(2)));
  EXPECT_EQ(render(xs), "[1]");
  EXPECT_EQ(render(ys), "[1, 2]");
}

TEST(InPlace, AssocAndMerge) {
  Value d = make_dict({{Name("a"), Value::integer(1)}});
  const Object* before = d.object();
  d = call_in(dict_builtins(), "assoc", values(std::move(d), kw("b"), Value::integer(2)));
  EXPECT_EQ(d.object(), before);
  Value kept = d;
  Value e = call_in(dict_builtins(), "merge", values(d, make_dict({{Name("a"), Value::nil()}})));
  EXPECT_EQ(render(kept), "{:a 1, :b 2}");
  EXPECT_EQ(render(e), "{:a nil, :b 2}");
}

// A fold that appends sees its accumulator unshared every time.
TEST(InPlace, ReduceMovesTheAccumulator) {
  int copies = 0;
  Value f = native_function("f", [&](Caller&, std::vector<Value>& args) {
    if (!args[0].unique()) ++copies;
    return call_in(sequence_builtins(), "append", std::move(args));
  });
  std::vector<Value> items;
  for (int i = 0; i < 1000; ++i)
    items.push_back(Value::integer(i));
  Value out = call_in(higher_order_builtins(), "reduce", values(f, Value::list({}), Value::list(std::move(items))));
  EXPECT_EQ(out.items().size(), 1000u);
  EXPECT_EQ(copies, 0);
}

TEST(InPlace, UpdateInTakesTheOldValueOut) {
  Value inner = make_dict({{Name("xs"), ints({1, 2})}});
  Value d = make_dict({{Name("a"), std::move(inner)}});
  bool unshared = false;
  Value f = native_function("f", [&](Caller&, std::vector<Value>& args) {
    unshared = args[0].unique();
    return call_in(sequence_builtins(), "append", values(std::move(args[0]), Value::integer(3)));
  });
  Value out = call_in(higher_order_builtins(), "update-in", values(std::move(d), Value::list({kw("a"), kw("xs")}), f));
  EXPECT_TRUE(unshared);
  EXPECT_EQ(render(out), "{:a {:xs [1, 2, 3]}}");
}

TEST(InPlace, UpdateInLeavesASharedTreeAlone) {
  Value d = make_dict({{Name("a"), make_dict({{Name("n"), Value::integer(1)}})}});
  Value f = native_function("f", [](Caller&, std::vector<Value>&) { return Value::integer(9); });
  Value out = call_in(higher_order_builtins(), "update-in", values(d, Value::list({kw("a"), kw("n")}), f));
  EXPECT_EQ(render(d), "{:a {:n 1}}");
  EXPECT_EQ(render(out), "{:a {:n 9}}");
}

TEST(Deep, TreeFunctionsReportInsteadOfOverflowing) {
  Value v = Value::integer(1);
  for (int i = 0; i < 200000; ++i)
    v = Value::list(values(std::move(v)));
  EXPECT_EQ(message_of([&] { call_in(tree_builtins(), "flatten", values(v)); }),
            "flatten: nested deeper than 4000 levels");
}

}  // namespace
}  // namespace sheaf::builtins

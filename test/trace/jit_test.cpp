// When a call runs compiled code, and when it is compiled: signatures, guards, variants, open sizes.
#include "trace/jit.h"

#include "trace/control.h"
#include "trace/jitted.h"
#include "trace/marks.h"
#include "trace/variant.h"

namespace sheaf::trace {
namespace {

using namespace testing_values;

using Variants = Jitted;
using Guards = Jitted;
using DynamicSizes = Jitted;

Value twice(std::vector<Value> args) {
  Operand x = operand_of(args[0]);
  return to_value(ops::add(x, x), Kind::Tensor);
}

TEST_F(Variants, CodeIsMadeAtTheSecondCallAndUsedFromThenOn) {
  define(twice);
  EXPECT_EQ(call({tensor({2})}), "[2. 4.]");
  EXPECT_FALSE(was_compiled() || was_traced());
  EXPECT_EQ(call({tensor({2}, 3)}), "[6. 8.]");
  EXPECT_TRUE(was_compiled() && was_traced());
  EXPECT_EQ(last_event().outcome, JitOutcome::Compiled);
  EXPECT_EQ(call({tensor({2}, 5)}), "[10. 12.]");
  EXPECT_TRUE(was_compiled());
  EXPECT_FALSE(was_traced());
}

TEST_F(Variants, LargeWorkAndAlwaysAreCompiledAtOnce) {
  define([](std::vector<Value> args) { return to_value(ops::sum_all(operand_of(args[0])), Kind::Tensor); });
  call({Value::tensor(zeros_tensor(DType::F32, {1 << 18}))});
  EXPECT_TRUE(was_compiled());
  define(twice);
  set_jit_mode(JitMode::Always);
  EXPECT_EQ(call({tensor({2})}), "[2. 4.]");
  EXPECT_TRUE(was_compiled());
}

TEST_F(Variants, DtypesAndStructuresHaveCodeOfTheirOwn) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    Value x = args[0].is_list() ? args[0].items()[0] : args[0];
    return to_value(ops::add(operand_of(x), operand_of(x)), Kind::Tensor);
  });
  EXPECT_EQ(call({tensor({2})}), "[2. 4.]");
  EXPECT_EQ(call({tensor({2}, 1, DType::I32)}), "[2 4]");
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({L({tensor({2})})}), "[2. 4.]");
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({tensor({2}, 2)}), "[4. 6.]");
  EXPECT_FALSE(was_traced());
}

TEST_F(Variants, APurposeHasCodeOfItsOwn) {
  set_jit_mode(JitMode::Always);
  define(twice);
  call({tensor({2})});
  key().purpose.contractions = DType::BF16;
  call({tensor({2})});
  EXPECT_TRUE(was_traced());
  key().purpose.contractions = DType::F32;
  call({tensor({2})});
  EXPECT_FALSE(was_traced());
}

TEST_F(Variants, CallsWithoutArraysAreLeftAlone) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) { return args[0]; });
  EXPECT_EQ(call({I(3)}), "3");
  EXPECT_FALSE(was_compiled() || was_traced());
  note_arrays(key());
  EXPECT_EQ(call({I(3)}), "3");
  EXPECT_TRUE(was_compiled());
}

TEST_F(Variants, ResultsAreTreesAsTheBodyMadeThem) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    return D({{"name", S("x")},
              {"parts", Tup({to_value(ops::neg(x), Kind::Tensor), args[1], Value::nil()})},
              {"sum", to_value(ops::sum_all(x), Kind::Float)}});
  });
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(call({tensor({2}), I(4)}), "{:name x, :parts ([-1. -2.], 4, nil), :sum 3.0}");
  EXPECT_TRUE(was_compiled());
}

TEST_F(Variants, WhatCannotBeTracedRunsAsBeforeAndSaysWhy) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    if (is_tracing()) abandon_trace("a reason");
    return args[0];
  });
  EXPECT_EQ(call({tensor({2})}), "[1. 2.]");
  EXPECT_FALSE(was_compiled());
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(last_event().outcome, JitOutcome::Interpreted);
  EXPECT_EQ(last_event().reason, "a reason");
  call({tensor({2})});
  EXPECT_FALSE(was_traced()) << "it is not tried again";
  call({tensor({2, 2})});
  EXPECT_TRUE(was_traced()) << "other arguments may be traceable";
}

TEST_F(Variants, AFatalReasonEndsAllTries) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    if (is_tracing()) throw Untraceable("an effect", {}, true);
    return args[0];
  });
  call({tensor({2})});
  call({tensor({2, 2})});
  EXPECT_FALSE(was_traced());
}

TEST_F(Variants, ResultsThatHoldStateAreNotCompiled) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) { return L({args[0], Value::object(Tag::Atom, new AtomObj)}); });
  call({tensor({2})});
  EXPECT_FALSE(was_compiled());
  EXPECT_NE(last_event().reason.find("depends on the arguments"), std::string::npos);
}

TEST_F(Variants, AStructureThatKeepsChangingIsGivenUp) {
  define([](std::vector<Value> args) { return args[0].items()[0]; });
  for (size_t n = 1; n <= 40; ++n)
    call({L(std::vector<Value>(n, tensor({2})))});
  EXPECT_EQ(last_event().reason, "the structure of its arguments keeps changing");
  call({L({tensor({2})})});
  EXPECT_FALSE(was_compiled() || was_traced());
}

TEST_F(Variants, ForgottenCodeIsMadeAgain) {
  set_jit_mode(JitMode::Always);
  define(twice);
  call({tensor({2})});
  forget_compiled();
  EXPECT_EQ(call({tensor({2})}), "[2. 4.]");
  EXPECT_TRUE(was_traced());
}

// A number is data until the body reads its value.
TEST_F(Guards, ANumberThatWasAskedForMustBeTheSame) {
  set_jit_mode(JitMode::Always);
  set_dynamic_mode(DynamicMode::Off);
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    for (int64_t i = concrete(args[1]).as_int(); i > 0; --i)
      x = ops::add(x, x);
    return to_value(x, Kind::Tensor);
  });
  EXPECT_EQ(call({tensor({2}), I(1)}), "[2. 4.]");
  EXPECT_EQ(call({tensor({2}), I(3)}), "[ 8. 16.]");
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({tensor({2}), I(1)}), "[2. 4.]");
  EXPECT_FALSE(was_traced());
}

TEST_F(Guards, ANumberThatIsOnlyComputedWithMayBeAny) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    return to_value(ops::mul(operand_of(args[0]), operand_of(args[1])), Kind::Tensor);
  });
  EXPECT_EQ(call({tensor({2}), F(2)}), "[2. 4.]");
  EXPECT_EQ(call({tensor({2}), F(0.5f)}), "[0.5  1.]");
  EXPECT_TRUE(was_compiled());
  EXPECT_FALSE(was_traced());
}

// A branch on a number guards the predicate, not the number.
TEST_F(Guards, APredicateMustComeOutTheSame) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    Value large = to_value(ops::less(ops::constant(DType::F32, 10), operand_of(args[1])), Kind::Bool);
    bool is_large = large.is_traced() ? *known_truth(large) : large.as_bool();
    return to_value(is_large ? ops::neg(x) : x, Kind::Tensor);
  });
  EXPECT_EQ(call({tensor({2}), F(1)}), "[1. 2.]");
  EXPECT_EQ(call({tensor({2}), F(5)}), "[1. 2.]");
  EXPECT_FALSE(was_traced());
  EXPECT_EQ(call({tensor({2}), F(11)}), "[-1. -2.]");
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({tensor({2}), F(99)}), "[-1. -2.]");
  EXPECT_FALSE(was_traced());
  EXPECT_EQ(call({tensor({2}), F(2)}), "[1. 2.]");
  EXPECT_FALSE(was_traced());
}

TEST_F(Guards, GlobalsAreInputsOfTheCodeThatReadsThem) {
  set_jit_mode(JitMode::Always);
  Value cell = tensor({2}, 10);
  define([&](std::vector<Value> args) {
    return to_value(ops::add(operand_of(args[0]), operand_of(global_value(cell))), Kind::Tensor);
  });
  EXPECT_EQ(call({tensor({2})}), "[11. 13.]");
  cell = tensor({2}, 20);
  EXPECT_EQ(call({tensor({2})}), "[21. 23.]");
  EXPECT_FALSE(was_traced());
  cell = tensor({1}, 20);
  EXPECT_EQ(call({tensor({2})}), "[21. 22.]");
  EXPECT_TRUE(was_traced()) << "its sizes are part of what the code was made for";
}

TEST_F(DynamicSizes, ASizeThatChangesIsLeftOpen) {
  define(twice);
  call({tensor({2})});
  call({tensor({3})});
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({tensor({4})}), "[2. 4. 6. 8.]");
  EXPECT_TRUE(was_compiled());
  EXPECT_FALSE(was_traced()) << "one trace serves all sizes";
  EXPECT_EQ(call({tensor({7})}), "[ 2.  4.  6.  8. 10. 12. 14.]");
  EXPECT_FALSE(was_traced());
}

TEST_F(DynamicSizes, SizesZeroAndOneHaveCodeOfTheirOwn) {
  set_jit_mode(JitMode::Always);
  define(twice);
  for (int64_t n : {2, 3, 4})
    call({tensor({n})});
  EXPECT_FALSE(was_traced());
  EXPECT_EQ(call({tensor({1})}), "[2.]");
  EXPECT_TRUE(was_traced());
}

TEST_F(DynamicSizes, SizesThatWereEqualMustStayEqual) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    return to_value(ops::add(operand_of(args[0]), operand_of(args[1])), Kind::Tensor);
  });
  call({tensor({2}), tensor({2})});
  call({tensor({3}), tensor({3})});
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({tensor({4}), tensor({4})}), "[2. 4. 6. 8.]");
  EXPECT_FALSE(was_traced());
  EXPECT_EQ(call({tensor({4}), tensor({1}, 10)}), "[11. 12. 13. 14.]");
  EXPECT_TRUE(was_traced());
}

TEST_F(DynamicSizes, OffMakesCodeForEachSize) {
  set_jit_mode(JitMode::Always);
  set_dynamic_mode(DynamicMode::Off);
  define(twice);
  for (int64_t n : {2, 3, 4}) {
    call({tensor({n})});
    EXPECT_TRUE(was_traced());
  }
}

TEST_F(DynamicSizes, AllLeavesThemOpenFromTheStart) {
  set_jit_mode(JitMode::Always);
  set_dynamic_mode(DynamicMode::All);
  define(twice);
  call({tensor({2})});
  EXPECT_TRUE(was_traced());
  EXPECT_EQ(call({tensor({3})}), "[2. 4. 6.]");
  EXPECT_FALSE(was_traced());
}

TEST_F(DynamicSizes, MarksDecide) {
  set_jit_mode(JitMode::Always);
  define(twice);
  call({mark_size(tensor({2}), 0, SizeMark::Dynamic)});
  call({tensor({3})});
  EXPECT_FALSE(was_traced()) << "open from the first trace on";
  define(twice);
  for (int64_t n : {2, 3, 4}) {
    call({mark_size(tensor({n}), 0, SizeMark::Static)});
    EXPECT_TRUE(was_traced()) << "never open";
  }
}

TEST_F(DynamicSizes, AnIntThatSizesDependOnIsOpenedToo) {
  set_jit_mode(JitMode::Always);
  define([](std::vector<Value> args) {
    Operand x = operand_of(args[0]);
    int64_t n = concrete(args[1]).as_int();
    return to_value(ops::slice_axis(x, 0, 0, n), Kind::Tensor);
  });
  for (int64_t n : {2, 3, 4, 5})
    EXPECT_EQ(call({tensor({8}), I(n)}).find("[1. 2."), 0u);
  EXPECT_TRUE(was_compiled());
}

}  // namespace
}  // namespace sheaf::trace

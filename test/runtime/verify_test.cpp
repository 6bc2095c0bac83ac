// Plans that break one rule each, next to plans that keep it.
#include "runtime/verify.h"

#include <gtest/gtest.h>

#include "runtime/hand_plan.h"
#include "support/internal_error.h"

namespace sheaf::runtime {
namespace {

const Access kIn{input(0), 64, 0}, kOut{output(0), 64, 100};
Access at(int64_t offset, int value, int64_t bytes = 64) { return {scratch(offset), bytes, value}; }

void expect_problem(const Plan& plan, const std::string& text) {
  EXPECT_NE(problem_of(plan).find(text), std::string::npos) << "expected: " << text << "\nfound: " << problem_of(plan);
}
void expect_right(const Plan& plan) { EXPECT_EQ(problem_of(plan), ""); }

TEST(VerifyPlan, WhatIsReadWasWritten) {
  expect_right(plan_of({launch({kIn, {constant(0), 64, 1}}, {at(0, 2)}), launch({at(0, 2)}, {kOut})}));
  expect_problem(plan_of({launch({at(0, 2)}, {kOut})}),
                 "step 0 (launch): value 2 (64 bytes at scratch+0) is read before");
  expect_problem(plan_of({launch({kIn}, {at(0, 2, 32)}), launch({at(0, 2)}, {kOut})}), "is read before it is written");
  // Two steps may write the parts of one value.
  expect_right(plan_of({launch({kIn}, {at(0, 2, 32)}), launch({kIn}, {at(32, 2, 32)}), launch({at(0, 2)}, {kOut})}));
  EXPECT_THROW(verify(plan_of({})), InternalError);
}

TEST(VerifyPlan, NothingThatIsReadLaterIsWrittenOver) {
  auto plan = [](int64_t where) {
    return plan_of(
        {launch({kIn}, {at(0, 2)}), launch({kIn}, {at(where, 3)}), launch({at(0, 2), at(where, 3)}, {kOut})});
  };
  expect_right(plan(64));
  expect_problem(plan(0), "step 2 (launch): value 2 (64 bytes at scratch+0) is read, but value 3 was written over it");
  expect_problem(plan(32), "value 3 was written over it");
}

TEST(VerifyPlan, OutputsHoldTheirValuesInTheEnd) {
  expect_problem(plan_of({launch({kIn}, {{output(0), 32, 100}})}),
                 "the end: value 100 (64 bytes at output 0) is read bef");
  // Another value may be stored there in between.
  Access waits{output(0), 64, 5};
  expect_right(plan_of({launch({kIn}, {waits}), launch({waits}, {kOut})}));
  expect_problem(plan_of({launch({kIn}, {kOut}), launch({kIn}, {waits})}), "but value 5 was written over it");
  Plan flipped = plan_of({launch({kIn}, {kOut})});
  flipped.outputs[0].strides = {-1};
  flipped.outputs[0].place.offset = 60;
  expect_right(flipped);
  flipped.outputs[0].place.offset = 64;
  expect_problem(flipped, "beyond its buffer");
}

TEST(VerifyPlan, BytesLieInTheirBuffer) {
  expect_problem(plan_of({launch({kIn}, {at(224, 2)})}),
                 "value 2 (64 bytes at scratch+224) is written beyond its buffer");
  expect_problem(plan_of({launch({{constant(1), 4, 1}}, {kOut})}), "is read beyond");
}

TEST(VerifyPlan, InputsAndConstantsAreNotWritten) {
  expect_problem(plan_of({launch({}, {kIn, kOut})}), "does not belong to the plan");
  expect_problem(plan_of({launch({}, {{constant(0), 64, 1}, kOut})}), "does not belong to the plan");
}

TEST(VerifyPlan, MemoryOfAnArgumentIsTakenOverWhenNobodyReadsItAnyMore) {
  auto plan = [](int reads) {
    return plan_of({launch({kIn}, {kOut}), launch({{input(reads), 64, reads}}, {{output(1), 64, 101}})}, {0, -1});
  };
  expect_right(plan(1));
  expect_problem(plan(0), "value 0 (64 bytes at input 0) is read, but value 100 was written over it");
  Plan returned = plan(1);
  returned.outputs.push_back({DType::F32, {16}, {1}, input(0), 0});
  expect_problem(returned, "the end: value 0");
}

TEST(VerifyPlan, NothingFailsOnceAnArgumentIsWrittenOver) {
  expect_right(plan_of({checking({kIn}, {at(0, 2)}), launch({kIn}, {kOut})}, {0}));
  expect_problem(plan_of({launch({kIn}, {kOut}), checking({at(0, 100)}, {})}, {0}), "is read before");
  expect_problem(plan_of({launch({kIn}, {kOut}), checking({kOut}, {at(0, 2)})}, {0}), "it may fail");
  expect_problem(plan_of({checking({kIn}, {kOut})}, {0}), "it may fail");
}

TEST(VerifyPlan, ALaunchWritesOverWhatItReadsElementByElement) {
  auto plan = [](Access written) { return plan_of({launch({kIn}, {at(0, 2)}), launch({at(0, 2)}, {written, kOut})}); };
  expect_right(plan(at(0, 3)));
  expect_problem(plan(at(32, 3)), "which the step may still read");
  // An update of some bytes of a value.
  expect_right(plan(at(32, 2, 16)));
  expect_problem(plan_of({launch({kIn}, {at(0, 2), at(32, 3), kOut})}), "are written to the same place");
}

TEST(VerifyPlan, StepsWithNestedPlansWriteOverNothingThatTheyRead) {
  auto plan = [](const Access& result) {
    return plan_of(
        {launch({kIn}, {at(0, 2)}), step_of<ScanStep>({at(0, 2)}, {result, at(192, 4)}), launch({result}, {kOut})});
  };
  expect_right(plan(at(64, 3)));
  expect_problem(plan(at(0, 3)), "which the step may still read");
}

// x -> prologue -> a; a @ b -> c; c, y -> epilogue.
Plan product(const Access& result) {
  ProductStep s;
  s.name = "product";
  const Access x{input(0), 64, 0}, b = at(0, 1), y = at(64, 2), c = at(128, 3);
  s.prologue.emplace_back().launch = launch({x}, {});
  s.product = launch({b}, {c});
  s.epilogue.emplace_back().launch = launch({c, y}, {result});
  return plan_of({launch({x}, {b, y}), s, launch({result}, {kOut})}, {0});
}

TEST(VerifyPlan, AnEpilogueWritesOverNothingThatTheProductStillReads) {
  expect_right(product(at(192, 4)));
  expect_right(product(at(128, 4)));                               // over the product
  expect_right(product(at(64, 4)));                                // over what it reads itself
  expect_problem(product(at(0, 4)), "step 1 (product): value 4");  // over the second factor
  // The prologue has read a row before the row of the result is complete.
  Plan over_x = product({output(0), 64, 100});
  over_x.steps.pop_back();
  expect_right(over_x);
  std::get<ProductStep>(over_x.steps[1]).prologue[0].launch.reads[0].bytes = 32;
  expect_problem(over_x, "which the product may still need");
}

}  // namespace
}  // namespace sheaf::runtime

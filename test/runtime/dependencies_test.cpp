// Which steps of a plan wait for which.
#include "runtime/dependencies.h"

#include <gtest/gtest.h>

#include "runtime/hand_plan.h"

namespace sheaf::runtime {
namespace {

using enum Dependency::Kind;
using Found = std::vector<Dependency>;

const Access kIn{input(0), 64}, kOut{output(0), 64};
Access at(int64_t offset, int64_t bytes = 64) { return {scratch(offset), bytes}; }

TEST(Dependencies, ReadersWaitForWriters) {
  EXPECT_EQ(dependencies(plan_of({launch({kIn}, {at(0)}), launch({kIn}, {at(64)}), launch({at(0), at(64)}, {kOut})})),
            (Found{{ReadAfterWrite, 0, 2}, {ReadAfterWrite, 1, 2}}));
  // Independent: they share only bytes that both read.
  EXPECT_EQ(dependencies(plan_of({launch({kIn}, {at(0)}), launch({kIn}, {at(64)})})), Found{});
}

TEST(Dependencies, WritersWaitForReadersOfMemoryThatIsReused) {
  EXPECT_EQ(dependencies(plan_of({launch({kIn}, {at(0)}), launch({at(0)}, {at(64)}), launch({at(0)}, {at(128)}),
                                  launch({kIn}, {at(32)})})),
            (Found{{ReadAfterWrite, 0, 1}, {ReadAfterWrite, 0, 2}, {WriteAfterRead, 1, 3}, {WriteAfterRead, 2, 3}}));
}

TEST(Dependencies, WritersOfTheSameBytesKeepTheirOrder) {
  EXPECT_EQ(dependencies(plan_of({launch({kIn}, {at(0)}), launch({kIn}, {at(60, 8)})})),
            (Found{{WriteAfterWrite, 0, 1}}));
  // The second has replaced the first except for four bytes.
  EXPECT_EQ(dependencies(plan_of({launch({}, {at(0)}), launch({}, {at(4)}), launch({at(8, 8)}, {kOut})})),
            (Found{{WriteAfterWrite, 0, 1}, {ReadAfterWrite, 1, 2}}));
  EXPECT_EQ(dependencies(plan_of({launch({}, {at(0)}), launch({}, {at(4)}), launch({at(0, 8)}, {kOut})})),
            (Found{{WriteAfterWrite, 0, 1}, {ReadAfterWrite, 0, 2}, {ReadAfterWrite, 1, 2}}));
}

TEST(Dependencies, AnOutputIsTheMemoryThatItTakesOver) {
  auto plan = [](int donor) { return plan_of({launch({kIn}, {at(0)}), launch({at(64)}, {kOut})}, {donor}); };
  EXPECT_EQ(dependencies(plan(-1)), Found{});
  EXPECT_EQ(dependencies(plan(0)), (Found{{WriteAfterRead, 0, 1}}));
  EXPECT_EQ(dependencies(plan(1)), Found{});
}

TEST(Dependencies, ThePartsOfAProductAreOneStep) {
  ProductStep s;
  s.prologue.emplace_back().launch = launch({kIn, at(0)}, {});
  s.product = launch({at(64)}, {at(128)});
  s.epilogue.emplace_back().launch = launch({at(128)}, {at(192)});
  EXPECT_EQ(dependencies(plan_of({launch({}, {at(0)}), launch({}, {at(64)}), launch({}, {at(128)}), s,
                                  launch({at(192)}, {kOut}), launch({at(128)}, {at(0)})})),
            (Found{{ReadAfterWrite, 0, 3},
                   {ReadAfterWrite, 1, 3},
                   {WriteAfterWrite, 2, 3},
                   {ReadAfterWrite, 3, 4},
                   {ReadAfterWrite, 3, 5}}));
}

TEST(Dependencies, HostCallsKeepTheirOrderAndThatOfChecks) {
  CallStep call;
  call.body = std::make_shared<const Plan>(plan_of({HostStep{}}));
  EXPECT_EQ(dependencies(plan_of({checking({}, {}), launch({}, {at(0)}), HostStep{}, call, checking({}, {})})),
            (Found{{Effect, 0, 2}, {Effect, 2, 3}, {Effect, 3, 4}}));
}

TEST(Dependencies, AnArgumentIsWrittenWhenNothingCanFail) {
  auto plan = [](int donor) { return plan_of({checking({}, {}), checking({}, {}), launch({}, {kOut})}, {donor}); };
  EXPECT_EQ(dependencies(plan(1)), (Found{{Effect, 0, 2}, {Effect, 1, 2}}));
  EXPECT_EQ(dependencies(plan(-1)), Found{});
}

}  // namespace
}  // namespace sheaf::runtime

// Which launches of a plan become tables, and where these are placed.
#include "compiler/launch_tables.h"

#include <gtest/gtest.h>

#include "runtime/hand_plan.h"

namespace sheaf::compiler {
namespace {

using runtime::Access;
using runtime::input;
using runtime::launch;
using runtime::output;
using runtime::plan_of;
using runtime::scratch;

const Access kIn{input(0), 64}, kOut{output(0), 64};
Access at(int64_t offset, int64_t bytes = 64) { return {scratch(offset), bytes}; }

runtime::Launch named(const std::string& name, runtime::Launch l) {
  l.name = name;
  for (const auto* accesses : {&l.reads, &l.writes})
    for (const Access& a : *accesses)
      l.buffers.push_back(a.place);
  l.sizes = {static_cast<int64_t>(l.buffers.size())};
  return l;
}

// The names of a plan's steps after tables of launches with equal names, of at most three, were made.
std::vector<std::string> names_of(runtime::Plan plan) {
  make_tables(plan, {.kind = [](const runtime::Launch& l) -> std::optional<TableMaker::Kind> {
                       return l.name == "alone" ? std::nullopt : std::optional(TableMaker::Kind{l.name, 3});
                     },
                     .code = [](const runtime::Launch&, size_t) { return nullptr; }});
  std::vector<std::string> out;
  for (const runtime::Step& step : plan.steps)
    runtime::each_base(step, [&](const runtime::StepBase& s) { out.push_back(s.name); });
  return out;
}
using Names = std::vector<std::string>;

TEST(LaunchTables, JoinIndependentLaunches) {
  runtime::Plan plan = plan_of({named("f", launch({kIn}, {at(0)})), named("g", launch({kIn}, {at(64)})),
                                named("f", launch({kIn}, {at(128)})), named("alone", launch({at(0)}, {kOut}))});
  EXPECT_EQ(names_of(plan), (Names{"g", "2 x f", "alone"}));
  make_tables(plan, {.kind = [](const runtime::Launch& l) { return std::optional(TableMaker::Kind{l.name, 9}); },
                     .code =
                         [](const runtime::Launch&, size_t count) {
                           EXPECT_EQ(count, 2u);
                           return nullptr;
                         }});
  const auto& table = std::get<runtime::Launch>(plan.steps[1]);
  EXPECT_EQ(table.buffers.size(), 4u);
  EXPECT_EQ(table.reads.size(), 2u);
  EXPECT_EQ(table.writes.size(), 2u);
  EXPECT_EQ(table.sizes, (std::vector<int64_t>{2, 2}));
}

TEST(LaunchTables, AreOfLimitedSize) {
  std::vector<runtime::Step> steps;
  for (int i = 0; i < 7; ++i)
    steps.emplace_back(named("f", launch({kIn}, {at(64 * i)})));
  EXPECT_EQ(names_of(plan_of(steps)), (Names{"3 x f", "3 x f", "f"}));
}

TEST(LaunchTables, LeaveWhatIsReadBetween) {
  // The second reads what the first writes; another step reads it before the last.
  EXPECT_EQ(names_of(plan_of({named("f", launch({kIn}, {at(0)})), named("f", launch({at(0)}, {at(64)})),
                              named("f", launch({kIn}, {at(128)}))})),
            (Names{"f", "2 x f"}));
  EXPECT_EQ(names_of(plan_of({named("f", launch({kIn}, {at(0)})), named("alone", launch({at(0)}, {at(64)})),
                              named("f", launch({kIn}, {at(128)}))})),
            (Names{"f", "alone", "f"}));
}

TEST(LaunchTables, LeaveWhatIsOverwrittenBetween) {
  // Memory that the first reads, or writes, is reused before the last.
  EXPECT_EQ(names_of(plan_of({named("f", launch({at(0)}, {at(64)})), named("alone", launch({kIn}, {at(0)})),
                              named("f", launch({kIn}, {at(128)}))})),
            (Names{"f", "alone", "f"}));
  EXPECT_EQ(names_of(plan_of({named("f", launch({at(0)}, {at(64)})), named("alone", launch({kIn}, {at(96)})),
                              named("f", launch({kIn}, {at(128)}))})),
            (Names{"f", "alone", "f"}));
}

TEST(LaunchTables, SeeOutputsThatTakeOverInputs) {
  auto plan = [](int donor) {
    return plan_of({named("f", launch({kIn}, {at(0)})), named("alone", launch({at(64)}, {kOut})),
                    named("f", launch({at(64)}, {at(128)}))},
                   {donor});
  };
  EXPECT_EQ(names_of(plan(-1)), (Names{"alone", "2 x f"}));
  EXPECT_EQ(names_of(plan(0)), (Names{"f", "alone", "f"}));
}

TEST(LaunchTables, LeaveLaunchesWithChecks) {
  auto checked = [](runtime::Launch l) {
    l.checks = true;
    return l;
  };
  EXPECT_EQ(names_of(plan_of({checked(named("f", launch({kIn}, {at(0)}))), named("f", launch({kIn}, {at(64)})),
                              checked(named("f", launch({kIn}, {at(128)}))), named("f", launch({kIn}, {at(192)}))})),
            (Names{"f", "f", "2 x f"}));
}

}  // namespace
}  // namespace sheaf::compiler

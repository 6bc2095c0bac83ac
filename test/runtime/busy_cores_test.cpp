#include "runtime/busy_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace sheaf::runtime {
namespace {

TEST(BusyCores, LeavingACoreKeepsWhereTheThreadMayRun) {
  std::thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int i = 0; i < 3; ++i) {
      leave_core(current_core());
      ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
      EXPECT_TRUE(CPU_EQUAL(&before, &after));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }).join();
}

TEST(BusyCores, AThreadOfOneCoreStaysThere) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    const int core = current_core();
    ASSERT_GE(core, 0);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leave_core(core);
    EXPECT_EQ(current_core(), core);
  }).join();
}

TEST(BusyCores, YieldingReturns) {
  for (int i = 0; i < 100000; ++i)
    yield_core();
}

}  // namespace
}  // namespace sheaf::runtime

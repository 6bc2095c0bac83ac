#include "support/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <numeric>
#include <thread>

namespace sheaf {
namespace {

using Cpus = std::vector<int>;

TEST(Cores, ListsOfTheSystem) {
  EXPECT_EQ(cpus_of_list("0"), Cpus({0}));
  EXPECT_EQ(cpus_of_list("0-3,8,10-11\n"), Cpus({0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(cpus_of_list(""), Cpus());
  EXPECT_EQ(cpus_of_list("x"), Cpus());
  EXPECT_EQ(cpus_of_list("3-"), Cpus());
}

// Topologies: 4 cores of two threads, numbered as Intel's and as AMD's servers do; 64 cores without a second thread; a
// system that does not report it.
TEST(Cores, ThreadsOfACoreAreOne) {
  auto far = [](int cpu) { return std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4); };
  auto near = [](int cpu) { return std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1); };
  auto alone = [](int cpu) { return std::to_string(cpu); };
  auto silent = [](int) { return std::string(); };
  Cpus all(8);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(count_cores(all, far), 4);
  EXPECT_EQ(count_cores(all, near), 4);
  EXPECT_EQ(count_cores(all, silent), 8);
  EXPECT_EQ(count_cores(Cpus{0, 1}, far), 2);
  EXPECT_EQ(count_cores(Cpus{0, 1}, near), 1);
  EXPECT_EQ(count_cores(Cpus{4, 5, 6, 7}, far), 4);
  EXPECT_EQ(count_cores(Cpus{3, 4, 7}, far), 2);
  Cpus many(64);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(count_cores(many, alone), 64);
  EXPECT_EQ(count_cores(Cpus{}, alone), 0);
}

TEST(Cores, NoMoreThanTheMaskHas) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(cores_allowed(), 1);
  }).join();
  EXPECT_GE(cores_allowed(), 1);
}

}  // namespace
}  // namespace sheaf

#include "support/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sheaf {
namespace {

class Counter {
 public:
  void add() {
    MutexLock lock(mu_);
    ++value_;
    changed_.notify_all();
  }
  void wait_until(int value) {
    MutexLock lock(mu_);
    while (value_ < value)
      changed_.wait(mu_);
  }
  bool changes_within(std::chrono::milliseconds time) {
    MutexLock lock(mu_);
    return changed_.wait_for(mu_, time);
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int value_ GUARDED_BY(mu_) = 0;
};

TEST(Mutex, WaitingEndsWhenAnotherThreadHasDoneItsPart) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n)
        counter.add();
    });
  counter.wait_until(4000);
  for (std::thread& t : threads)
    t.join();
}

TEST(Mutex, WaitingForSomeTimeEndsAndLeavesTheLockFree) {
  Counter counter;
  EXPECT_FALSE(counter.changes_within(std::chrono::milliseconds(1)));
  counter.add();
  counter.wait_until(1);
}

TEST(SharedMutex, ReadersHoldItTogether) {
  SharedMutex mu;
  ReaderLock one(mu);
  std::thread([&] { ReaderLock two(mu); }).join();
}

}  // namespace
}  // namespace sheaf

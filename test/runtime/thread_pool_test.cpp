#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sheaf::runtime {
namespace {

TEST(ThreadPool, CoversEveryIterationOnce) {
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (int64_t n : {0, 1, 2, 7, 64, 1000, 12345})
      for (int64_t grain : {1, 3, 100, 100000}) {
        std::vector<std::atomic<int>> hits(n);
        std::atomic<bool> long_enough{true};
        parallel_for(
            n,
            [&](int64_t b, int64_t e) {
              if (e - b < grain && e < n) long_enough = false;
              for (int64_t i = b; i < e; ++i)
                ++hits[i];
            },
            grain);
        ASSERT_TRUE(long_enough) << "n " << n << " grain " << grain << " threads " << threads;
        for (auto& h : hits)
          ASSERT_EQ(h.load(), 1) << "n " << n << " grain " << grain << " threads " << threads;
      }
  }
}

// Each waits for the other, so neither can do both.
TEST(ThreadPool, ThreadsBeginWithTheSameShareEveryTime) {
  set_num_threads(2);
  for (int job = 0; job < 200; ++job) {
    std::thread::id by[2];
    std::atomic<int> here{0};
    parallel_for(
        2,
        [&](int64_t b, int64_t) {
          by[b] = std::this_thread::get_id();
          for (++here; here < 2;)
            std::this_thread::yield();
        },
        1);
    EXPECT_EQ(by[0], std::this_thread::get_id());
    EXPECT_NE(by[1], by[0]);
  }
}

TEST(ThreadPool, ManyShortJobs) {
  set_num_threads(4);
  int64_t total = 0;
  for (int job = 0; job < 20000; ++job) {
    std::atomic<int64_t> sum{0};
    parallel_for(
        16,
        [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i)
            sum += i;
        },
        1);
    total += sum;
  }
  EXPECT_EQ(total, 20000 * 120);
}

TEST(ThreadPool, NestedAndConcurrentCallersRunInline) {
  set_num_threads(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job)
        parallel_for(
            8,
            [&](int64_t b, int64_t e) {
              for (int64_t i = b; i < e; ++i)
                parallel_for(4, [&](int64_t bb, int64_t ee) { sum += ee - bb; }, 1);
            },
            1);
    });
  for (auto& c : callers)
    c.join();
  EXPECT_EQ(sum.load(), 4 * 500 * 8 * 4);
}

TEST(ThreadPool, CarriesExceptions) {
  set_num_threads(3);
  for (int at = 0; at < 50; ++at) {
    EXPECT_THROW(parallel_for(
                     50,
                     [&](int64_t b, int64_t e) {
                       if (b <= at && at < e) throw std::runtime_error("range");
                     },
                     1),
                 std::runtime_error);
    std::atomic<int> n{0};
    parallel_for(50, [&](int64_t b, int64_t e) { n += static_cast<int>(e - b); }, 1);
    EXPECT_EQ(n.load(), 50);
  }
}

TEST(ThreadPool, WakesSleepingWorkers) {
  set_num_threads(2);
  for (int job = 0; job < 20; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> n{0};
    parallel_for(100, [&](int64_t b, int64_t e) { n += static_cast<int>(e - b); }, 1);
    EXPECT_EQ(n.load(), 100);
  }
}

// The caller wakes some, and those the others: each waits until all are there.
TEST(ThreadPool, WakesAllOfThem) {
  constexpr int kThreads = 8;
  set_num_threads(kThreads);
  for (int job = 0; job < 10; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    std::atomic<int> here{0};
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    parallel_for(
        kThreads,
        [&](int64_t b, int64_t e) {
          here += static_cast<int>(e - b);
          while (here < kThreads && std::chrono::steady_clock::now() < late)
            std::this_thread::yield();
        },
        1);
    ASSERT_LT(std::chrono::steady_clock::now(), late);
  }
}

}  // namespace
}  // namespace sheaf::runtime

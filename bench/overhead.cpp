// The cost of sharing work between threads: a fork-join while the workers are awake, one after they went to sleep, and
// how long they stay awake. Prints `name value` lines, microseconds.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "runtime/thread_pool.h"

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point t) { return std::chrono::duration<double, std::micro>(Clock::now() - t).count(); }

double us_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

// Processor time that the other threads have used.
double workers_us() { return us_of(CLOCK_PROCESS_CPUTIME_ID) - us_of(CLOCK_THREAD_CPUTIME_ID); }

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<long>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

// Two ranges that wait for each other: no thread can do both.
void fork_join() {
  struct alignas(128) Flag {
    std::atomic<int64_t> turn{0};
  };
  static Flag flags[2];
  static int64_t turn = 0;
  ++turn;
  sheaf::runtime::parallel_for(
      2,
      [](int64_t begin, int64_t) {
        flags[begin].turn.store(turn, std::memory_order_release);
        while (flags[1 - begin].turn.load(std::memory_order_acquire) < turn) {
        }
      },
      1);
}

}  // namespace

int main() {
  sheaf::runtime::set_num_threads(2);
  std::vector<double> hot, cold, awake;
  for (int i = 0; i < 1000; ++i)
    fork_join();
  for (int i = 0; i < 1000; ++i) {
    auto start = Clock::now();
    for (int k = 0; k < 20; ++k)
      fork_join();
    hot.push_back(us_since(start) / 20);
  }
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    auto start = Clock::now();
    fork_join();
    cold.push_back(us_since(start));
  }
  // The time that the worker spins while the caller sleeps.
  for (int i = 0; i < 50; ++i) {
    fork_join();
    double before = workers_us();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    awake.push_back(workers_us() - before);
  }
  std::printf("fork-join-hot %.3f\nfork-join-asleep %.3f\nawake-after-work %.1f\n", median(hot), median(cold),
              median(awake));
}

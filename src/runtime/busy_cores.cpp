#include "runtime/busy_cores.h"

#include <sched.h>

#include <chrono>
#include <thread>

namespace sheaf::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Less than a time slice, which is 3 to 4 ms on Linux with two cores or more (bench/busy.py on a Cascade Lake, with one
// core busy: 2 and 2.5 ms took equal time, 3.5 ms a tenth more). An unnecessary yield takes half a microsecond.
constexpr auto kTurn = std::chrono::microseconds(2500);
constexpr auto kBetweenMoves = std::chrono::milliseconds(1);

}  // namespace

void yield_core() {
  static thread_local Clock::time_point turn_began;
  if (Clock::now() < turn_began + kTurn) return;
  std::this_thread::yield();
  turn_began = Clock::now();
}

void leave_core(int core) {
  static thread_local Clock::time_point moved;
  const auto now = Clock::now();
  if (now < moved + kBetweenMoves) return;
  moved = now;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  sched_setaffinity(0, sizeof others, &others);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

int current_core() { return sched_getcpu(); }

}  // namespace sheaf::runtime

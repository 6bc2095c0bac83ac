// Threads that run user code. Built-ins that call back nest native frames (map inside map …), and the depth limits
// (eval/vm.h) assume a stack of this size. The memory is reserved, and used only by programs that nest that deep. If
// address space is limited, the stack is smaller and so are the limits.
#pragma once
#include <pthread.h>

#include <cstddef>
#include <functional>

namespace sheaf {

inline constexpr size_t kLargeStackBytes = size_t{512} << 20, kLeastStackBytes = size_t{32} << 20;

// Halves `bytes`, down to `least`, until it is at most an eighth of this process's address space: worker threads need
// some of it too.
size_t within_address_space(size_t bytes, size_t least);

// The fraction of kLargeStackBytes that this thread has.
double stack_share();

// Joins when destroyed. `body` must not throw; starting throws UserError if not even the smallest stack is available.
class LargeStackThread {
 public:
  LargeStackThread() = default;
  explicit LargeStackThread(std::function<void()> body) { start(std::move(body)); }
  LargeStackThread(const LargeStackThread&) = delete;
  ~LargeStackThread() { join(); }
  void start(std::function<void()> body);
  void join();

 private:
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace sheaf

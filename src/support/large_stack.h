// Threads that run user code. Built-ins that call back nest native frames (map inside map …), and the limits on that
// (eval/vm.h) assume a stack of this size; the memory is reserved, not used, until something nests that deep. Where the
// address space is limited, the stack is smaller and so are the limits.
#pragma once
#include <pthread.h>

#include <cstddef>
#include <functional>

namespace sheaf {

inline constexpr size_t kLargeStackBytes = size_t{512} << 20, kLeastStackBytes = size_t{32} << 20;

// So many bytes to reserve, or half as many and so on down to `least`, until they are no more than an eighth of the
// address space that this process may have: worker threads need some of it too.
size_t within_address_space(size_t bytes, size_t least);

// The part of kLargeStackBytes that this thread has.
double stack_share();

// Joins when destroyed. `body` must not throw; starting throws UserError where not even the least stack can be had.
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

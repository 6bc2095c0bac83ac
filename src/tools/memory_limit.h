// --max-memory for all that the process holds: tensors have their own account (tensor/buffer_pool.h), which refuses an
// allocation; compiled code, caches and values of the language are seen in what the process has in RAM. While one
// lives, a thread looks now and then, and stops the program as Ctrl-C would (support/interrupt.h) once it holds too
// much.
#pragma once
#include <condition_variable>
#include <thread>

#include "support/mutex.h"

namespace sheaf::tools {

class MemoryLimit {
 public:
  // What the process has when this is made does not count: the program is not to blame for it.
  explicit MemoryLimit(size_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  void watch();
  void look();
  size_t held_bytes() const;

  const size_t limit_bytes_, at_start_bytes_;
  Mutex mu_;
  std::condition_variable_any wake_;
  bool stop_ GUARDED_BY(mu_) = false;
  std::thread watcher_;
};

}  // namespace sheaf::tools

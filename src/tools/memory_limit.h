// --max-memory for all memory of the process. Tensors have a budget of their own (tensor/buffer_pool.h), which refuses
// an allocation; compiled code, caches and language values only show in resident memory. During its lifetime, a thread
// polls resident memory and stops the program like Ctrl-C (support/interrupt.h) when it exceeds the limit.
#pragma once
#include <cstddef>

#include "support/periodic_thread.h"

namespace sheaf::tools {

class MemoryLimit {
 public:
  // Memory resident at construction does not count: the program did not allocate it.
  explicit MemoryLimit(size_t bytes);

 private:
  void look();
  size_t held_bytes() const;

  const size_t limit_bytes_, at_start_bytes_;
  PeriodicThread watcher_;
};

}  // namespace sheaf::tools

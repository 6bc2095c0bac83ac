// --max-memory for all that the process holds: tensors have their own account (tensor/buffer_pool.h), which refuses an
// allocation; compiled code, caches and values of the language are seen in what the process has in RAM. While one
// lives, a thread looks now and then, and stops the program as Ctrl-C would (support/interrupt.h) once it holds too
// much.
#pragma once
#include <cstddef>

#include "support/periodic_thread.h"

namespace sheaf::tools {

class MemoryLimit {
 public:
  // What the process has when this is made does not count: the program is not to blame for it.
  explicit MemoryLimit(size_t bytes);

 private:
  void look();
  size_t held_bytes() const;

  const size_t limit_bytes_, at_start_bytes_;
  PeriodicThread watcher_;
};

}  // namespace sheaf::tools

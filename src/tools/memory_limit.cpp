#include "tools/memory_limit.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "support/interrupt.h"
#include "support/machine_memory.h"
#include "tensor/buffer_pool.h"

namespace sheaf::tools {
namespace {

// A program that fills memory at full speed takes some 50 MB in one period.
constexpr std::chrono::milliseconds kPeriod{20};

double megabytes(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

MemoryLimit::MemoryLimit(size_t bytes)
    : limit_bytes_(bytes), at_start_bytes_(unshared_bytes()), watcher_(kPeriod, [this] { look(); }) {}

size_t MemoryLimit::held_bytes() const {
  const size_t now = unshared_bytes();
  return now - std::min(now, at_start_bytes_);
}

void MemoryLimit::look() {
  if (g_interrupted || held_bytes() <= limit_bytes_) return;
  BufferPool::get().release_kept();
  malloc_trim(0);
  const size_t held = held_bytes();
  if (held <= limit_bytes_) return;
  stop_with(
      fmt::format("out of memory: the program holds {:.0f} MB of {:.0f} allowed (--max-memory), {:.0f} of them in "
                  "tensors, the rest in other values and compiled code",
                  megabytes(held), megabytes(limit_bytes_), megabytes(memory_stats().live_bytes)));
}

}  // namespace sheaf::tools

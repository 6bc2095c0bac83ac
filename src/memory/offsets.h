// Assigns offsets in one block of memory to buffers with known lifetimes. A pure function: nothing is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf::memory {

struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;  // steps, inclusive
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // one for each lifetime, aligned
  size_t total_bytes = 0;
};

// First fit by decreasing size: each buffer gets the lowest offset where it overlaps no buffer alive at the same time.
MemoryPlan plan_memory(const std::vector<Lifetime>& buffers, int64_t alignment_bytes);

}  // namespace sheaf::memory

#include "memory/offsets.h"

#include <algorithm>
#include <numeric>

namespace sheaf::memory {

MemoryPlan plan_memory(const std::vector<Lifetime>& buffers, int64_t alignment_bytes) {
  auto rounded = [&](int64_t n) {
    return (std::max<int64_t>(n, 1) + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  };
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<int> placed;  // by offset
  for (int i : order) {
    int64_t at = 0, need = rounded(buffers[i].bytes);
    for (int p : placed) {
      if (buffers[p].last < buffers[i].first || buffers[i].last < buffers[p].first) continue;
      if (at + need <= plan.offsets[p]) break;
      at = std::max(at, plan.offsets[p] + rounded(buffers[p].bytes));
    }
    plan.offsets[i] = at;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), at, [&](int64_t v, int p) { return v < plan.offsets[p]; }), i);
    plan.total_bytes = std::max(plan.total_bytes, static_cast<size_t>(at + need));
  }
  return plan;
}

}  // namespace sheaf::memory

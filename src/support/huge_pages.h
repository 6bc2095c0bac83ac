// Memory that the system may back with huge pages: a tenth of the page faults and TLB misses, and longer runs of the
// hardware prefetcher, which stops at page boundaries.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace sheaf {

inline constexpr size_t kHugePage = 2 << 20;

// Returns null on failure; free with std::free. The rest after the last whole huge page has small pages.
inline std::byte* allocate_huge_pages(size_t bytes) {
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage));
  if (p) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

}  // namespace sheaf

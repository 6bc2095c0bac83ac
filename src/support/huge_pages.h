// Memory that the system may back with large pages: a tenth of the faults and of the translation misses, and the
// machine's own prefetching goes on for longer, as it stops at the end of a page.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace sheaf {

inline constexpr size_t kHugePage = 2 << 20;

// For std::free, or null. What is left after the last whole one has small pages.
inline std::byte* allocate_huge_pages(size_t bytes) {
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage));
  if (p) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

}  // namespace sheaf

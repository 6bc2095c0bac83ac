#include "tensor/buffer_pool.h"

#include <fmt/format.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include "support/error.h"
#include "support/huge_pages.h"
#include "support/machine_memory.h"

namespace sheaf {
namespace {

constexpr size_t kAlign = 64, kSmall = 4096, kLarge = 64 << 10;
// Upper bound of the cached unused bytes; they also exceed the bytes in use by at most an eighth of this.
constexpr size_t kMostKept = size_t{512} << 20;
// A large block that stayed unused for this many takes and gives counts as stale: more than one training step has when
// it runs op by op.
constexpr uint64_t kStale = 1024;

size_t rounded_up(size_t n) { return n == 0 ? kAlign : (n + kAlign - 1) / kAlign * kAlign; }

// Eight size classes for each power of two: a block is at most an eighth larger than the request, and sizes that grow a
// little from call to call reuse the previous call's block.
size_t class_of(size_t bytes) {
  size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// Tell the address sanitizer, for which a whole block is readable, which bytes of it may be accessed.
void show([[maybe_unused]] std::byte* p, [[maybe_unused]] size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(p, bytes); }
void hide([[maybe_unused]] std::byte* p, [[maybe_unused]] size_t bytes) { ASAN_POISON_MEMORY_REGION(p, bytes); }

// Maps whole pages, backed by huge pages if the block is large enough.
std::byte* map_block(size_t bytes) {
  const size_t extra = bytes >= kHugePage ? kHugePage : 0;
  void* p = ::mmap(nullptr, bytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(p);
  if (!extra) return begin;
  auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(p) + extra - 1) / extra * extra);
  if (aligned > begin) ::munmap(begin, static_cast<size_t>(aligned - begin));
  if (std::byte* end = begin + extra; end > aligned) ::munmap(aligned + bytes, static_cast<size_t>(end - aligned));
  ::madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}

void unmap_block(std::byte* p, size_t bytes) {
  show(p, bytes);
  ::munmap(p, bytes);
}

struct SmallBlocks {
  std::vector<std::byte*> by_size[kSmall / kAlign + 1];
  ~SmallBlocks() {
    for (auto& list : by_size)
      for (std::byte* p : list)
        std::free(p);
  }
};
std::vector<std::byte*>& small_blocks(size_t rounded) {
  thread_local SmallBlocks blocks;
  return blocks.by_size[rounded / kAlign];
}

}  // namespace

BufferPool::BufferPool() : limit_(memory_allowed() / 10 * 9) {}

BufferPool& BufferPool::get() {
  static auto* pool = new BufferPool;
  return *pool;
}

std::byte* BufferPool::take(size_t bytes) {
  size_t rounded = rounded_up(bytes);
  if (live_.load(std::memory_order_relaxed) + rounded > limit_.load(std::memory_order_relaxed))
    throw runtime_error(
        fmt::format("out of memory: {} bytes asked for, {} in use of {} allowed", bytes, live_.load(), limit_.load()));
  std::byte* p = nullptr;
  if (rounded >= kLarge) {
    p = take_large(rounded);
  } else {
    if (rounded <= kSmall) {
      auto& list = small_blocks(rounded);
      if (!list.empty()) {
        p = list.back();
        list.pop_back();
      }
    }
    if (!p) p = static_cast<std::byte*>(std::aligned_alloc(kAlign, rounded));
  }
  if (!p) throw runtime_error(fmt::format("out of memory: {} bytes asked for", bytes));
  size_t now = live_.fetch_add(rounded, std::memory_order_relaxed) + rounded;
  size_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return p;
}

void BufferPool::give(std::byte* p, size_t bytes) {
  size_t rounded = rounded_up(bytes);
  live_.fetch_sub(rounded, std::memory_order_relaxed);
  if (rounded >= kLarge) return give_large(p, rounded);
  if (rounded <= kSmall) {
    auto& list = small_blocks(rounded);
    if (list.size() < 64) {
      list.push_back(p);
      return;
    }
  }
  std::free(p);
}

size_t BufferPool::kept_bytes() {
  MutexLock lock(mu_);
  return kept_bytes_;
}

std::byte* BufferPool::take_large(size_t bytes) {
  const size_t whole = class_of(bytes);
  {
    MutexLock lock(mu_);
    ++clock_;
    if (auto found = of_class_.find(whole); found != of_class_.end()) {
      auto block = kept_.find(found->second.back());  // the last one is likeliest to be in a cache
      std::byte* p = block->second.data;
      kept_.erase(block);
      found->second.pop_back();
      if (found->second.empty()) of_class_.erase(found);
      kept_bytes_ -= whole;
      show(p, bytes);
      return p;
    }
    // Release stale blocks before mapping fresh pages.
    for (size_t freed = 0, more; freed < whole && (more = drop_unused(kStale)) > 0;)
      freed += more;
  }
  std::byte* p = map_block(whole);
  if (p) hide(p + bytes, whole - bytes);
  return p;
}

void BufferPool::give_large(std::byte* p, size_t bytes) {
  const size_t whole = class_of(bytes);
  {
    MutexLock lock(mu_);
    ++clock_;
    const size_t most = std::min(kMostKept, live_.load(std::memory_order_relaxed) + (kMostKept >> 3));
    // Evict stale blocks only: blocks that are reused in cyclic order would otherwise evict each other.
    while (kept_bytes_ + whole > most && drop_unused(kStale) > 0) {
    }
    if (kept_bytes_ + whole <= most) {
      kept_.emplace(clock_, Kept{p, whole});
      of_class_[whole].push_back(clock_);
      kept_bytes_ += whole;
      hide(p, whole);
      return;
    }
  }
  unmap_block(p, whole);
}

void BufferPool::release_kept() {
  MutexLock lock(mu_);
  while (drop_unused(0) > 0) {
  }
}

size_t BufferPool::drop_unused(uint64_t least_age) {
  auto oldest = kept_.begin();
  if (oldest == kept_.end() || oldest->first + least_age > clock_) return 0;
  const Kept block = oldest->second;
  auto same = of_class_.find(block.bytes);
  same->second.pop_front();
  if (same->second.empty()) of_class_.erase(same);
  kept_.erase(oldest);
  kept_bytes_ -= block.bytes;
  unmap_block(block.data, block.bytes);
  return block.bytes;
}

}  // namespace sheaf

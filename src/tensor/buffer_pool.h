// A caching allocator for host buffers. Freed blocks are kept for reuse: small ones by size and thread, since an eager
// op on a 4x4 tensor should not call malloc each time; large ones by size class, since the first touch of a fresh page
// costs more than computing its content. Each large block is a mapping of its own: in the heap, long-lived objects
// (compiled code) would end up between them, and sizes that grow from call to call would leave holes that nothing
// fills again (fragmentation). Thread-safe.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>

#include "support/mutex.h"
#include "tensor/tensor.h"

namespace sheaf {

class BufferPool {
 public:
  static BufferPool& get();

  // Uninitialised, 64-byte aligned. Throws UserError if the budget or the machine has no room.
  std::byte* take(size_t bytes);
  void give(std::byte* p, size_t bytes);

  MemoryStats stats() const { return {live_.load(), peak_.load(), limit_.load()}; }
  void set_limit(size_t bytes) { limit_.store(bytes); }
  // kept_bytes: bytes in large blocks that are cached but unused. release_kept: returns them to the system.
  size_t kept_bytes();
  void release_kept();

 private:
  struct Kept {
    std::byte* data;
    size_t bytes;  // a size class
  };

  BufferPool();
  std::byte* take_large(size_t bytes);
  void give_large(std::byte* p, size_t bytes);
  // Unmaps the least recently used block if its age (on clock_) is at least `least_age`; returns its bytes, or 0.
  size_t drop_unused(uint64_t least_age) REQUIRES(mu_);

  Mutex mu_;
  std::map<uint64_t, Kept> kept_ GUARDED_BY(mu_);                    // by the clock_ of their release
  std::map<size_t, std::deque<uint64_t>> of_class_ GUARDED_BY(mu_);  // the same, by size class
  uint64_t clock_ GUARDED_BY(mu_) = 0;                               // takes and gives of large blocks so far
  size_t kept_bytes_ GUARDED_BY(mu_) = 0;
  std::atomic<size_t> live_{0}, peak_{0}, limit_;
};

}  // namespace sheaf

// The memory of buffers. Blocks that are given back are kept for reuse: small ones by size and thread, as an eager op
// on a 4x4 tensor should not pay malloc twice; large ones by size class, as the first touch of a fresh page costs more
// than computing what goes into it. Large blocks are mappings of their own: in the heap, what lives long (compiled
// code) would come to lie between them, and sizes that grow from call to call would leave holes that nothing fills
// again. Thread-safe.
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

  // Uninitialised, 64-byte aligned. Throws UserError when the budget or the machine refuses.
  std::byte* take(size_t bytes);
  void give(std::byte* p, size_t bytes);

  MemoryStats stats() const { return {live_.load(), peak_.load(), limit_.load()}; }
  void set_limit(size_t bytes) { limit_.store(bytes); }
  // Bytes in large blocks that nobody uses; gives them back to the system.
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
  // Gives back the block that was unused for longest, if that is as long as said; its bytes, or 0.
  size_t drop_unused(uint64_t least_age) REQUIRES(mu_);

  Mutex mu_;
  std::map<uint64_t, Kept> kept_ GUARDED_BY(mu_);                    // by when they were given back
  std::map<size_t, std::deque<uint64_t>> of_class_ GUARDED_BY(mu_);  // the same, by size class
  uint64_t clock_ GUARDED_BY(mu_) = 0;                               // large blocks taken and given so far
  size_t kept_bytes_ GUARDED_BY(mu_) = 0;
  std::atomic<size_t> live_{0}, peak_{0}, limit_;
};

}  // namespace sheaf

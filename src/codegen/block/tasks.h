// How routines are cut into tasks, and the memory that a thread works in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {

inline constexpr int64_t kTaskFlops = 1 << 18;  // a task worth a thread: some 5 us

inline int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
inline int64_t pieces(int64_t x, int64_t of) { return (x + of - 1) / of; }

// The width of strips of n columns: of equal width, at most about `most`, as many for each thread.
inline int64_t strip_width(int64_t n, int64_t most, int64_t multiple) {
  int64_t threads = runtime::num_threads();
  return round_up(pieces(n, threads * pieces(n, threads * most)), multiple);
}

// Memory of a thread for packed blocks; `slot` tells apart what is in use at the same time.
template <class T>
T* scratch(int slot, size_t elements) {
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };
  static thread_local Memory memory[6];
  Memory& m = memory[slot];
  size_t needed = elements * sizeof(T) + 64;
  if (m.size < needed) {
    m.bytes.reset(new std::byte[needed]);
    m.size = needed;
  }
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(m.bytes.get()) + 63) / 64 * 64);
}

}  // namespace sheaf::codegen::block

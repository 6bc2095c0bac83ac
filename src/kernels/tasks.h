// Divides the work of kernels into tasks; scratch memory of a thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "runtime/thread_pool.h"
#include "support/huge_pages.h"

namespace sheaf::kernels {

inline constexpr int64_t kTaskFlops =
    1 << 18;  // least flops of a task, some 5 us: starting one takes 1 us (bench_overhead)
inline constexpr int64_t kRowTaskFlops = 1 << 17;  // of a GEMV, which is bound by memory (bench_gemm)
inline constexpr int64_t kManyThreads =
    4;  // from here on some threads are late, and passing data between threads is slow

inline int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
inline int64_t pieces(int64_t x, int64_t of) { return (x + of - 1) / of; }

// The width of equal strips of n columns: at most about `most`, with the same number of strips for each thread.
inline int64_t strip_width(int64_t n, int64_t most, int64_t multiple) {
  int64_t threads = runtime::num_threads();
  return round_up(pieces(n, threads * pieces(n, threads * most)), multiple);
}

// Splits `count` consecutive chunks of memory into tasks; each task reads `streams` chunks at once. make_f() is called
// once per thread and range of tasks; f(first, apart) processes the chunks first, first + apart, …, `streams` of them,
// or with apart == 0 the first alone. Tasks are long, of equal size, and equally many for each thread; with many
// threads, some of which are late, they are shorter. `apart` is odd: streams at power-of-two distances would map to few
// sets of the caches and few banks of memory.
template <class F>
void for_streams(int64_t count, int64_t streams, int64_t piece_bytes, int64_t grain, F&& make_f) {
  const int64_t threads = runtime::num_threads(), groups = count / streams;
  const int64_t least = threads < kManyThreads ? threads : 2 * threads,
                stream_bytes = threads < kManyThreads ? 1 << 20 : 256 << 10;
  const int64_t tasks = std::max<int64_t>(
      1, std::min(groups, round_up(std::max(least, pieces(count * piece_bytes, streams * stream_bytes)), threads)));
  runtime::parallel_for(
      tasks,
      [&](int64_t begin, int64_t end) {
        auto f = make_f();
        for (int64_t task = begin; task < end; ++task) {
          const int64_t first = groups * task / tasks, each = groups * (task + 1) / tasks - first,
                        apart = each - (each % 2 == 0 && each > 0), at = first * streams;
          for (int64_t e = 0; e < apart; ++e)
            f(at + e, apart);
          if (apart < each) f(at + apart * streams, 1);
        }
        if (end == tasks)
          for (int64_t e = groups * streams; e < count; ++e)
            f(e, 0);
      },
      std::max<int64_t>(1, grain / pieces(count, tasks)));
}

// Scratch memory of this thread. Memory in use at the same time has different slots: products use the first ones,
// factorizations, which call products, those from kLinalgSlot on.
inline constexpr int kLinalgSlot = 6;
template <class T>
T* scratch(int slot, size_t elements) {
  constexpr size_t kLarge = 256 << 10;
  struct Memory {
    std::byte* bytes = nullptr;
    size_t size = 0;
    ~Memory() { std::free(bytes); }
  };
  static thread_local Memory memory[kLinalgSlot + 8];
  Memory& m = memory[slot];
  size_t needed = elements * sizeof(T) + 64;
  if (m.size < needed) {
    std::free(m.bytes);
    m.size = 0;
    if (needed >= kLarge) needed = round_up(static_cast<int64_t>(needed), kHugePage);
    m.bytes = needed >= kLarge ? allocate_huge_pages(needed) : static_cast<std::byte*>(std::malloc(needed));
    if (!m.bytes) throw std::bad_alloc();
    m.size = needed;
  }
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(m.bytes) + 63) / 64 * 64);
}

}  // namespace sheaf::kernels

// Interface between a GEMM and the kernels fused with it. The algorithm calls the prologue before it reads rows of A,
// and the epilogue after it completes a tile of C, on the thread that is about to read or has just written the data,
// while they are in a cache of that core.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernel.h"
#include "runtime/thread_pool.h"

namespace sheaf::runtime {

// A block of a matrix.
struct Tile {
  int64_t row, rows, column, columns;
};
// Called when a tile of C is complete, on the thread that completed it. Every element of C is in exactly one tile.
using EpilogueFn = function_ref<void(const Tile&)>;

// Called before a thread reads rows [row, row + rows) of A, once for each row. Returns the address of the first; their
// stride is that of A. `keep`: the rows stay valid for later reads; with `rows == 0` returns where they will be.
// Without `keep` they stay valid until the same thread calls again.
using PrologueFn = function_ref<const std::byte*(int64_t row, int64_t rows, bool keep)>;

// The largest array that the prologue reads, which the algorithm may prefetch; or none.
struct PrologueSource {
  const std::byte* data = nullptr;
  int64_t row_step = 0;  // bytes from one row to the next
};

// The prologue and epilogue fused with a product; either may be missing.
struct Fusion {
  const PrologueFn* prologue = nullptr;
  const EpilogueFn* epilogue = nullptr;
  PrologueSource source = {};
};

// A product for this processor that supports fusion. Any thread may run it.
class FusedProduct : public Code {
 public:
  virtual void run(std::span<std::byte* const> buffers, const Fusion& fusion) const = 0;
  // True if its tiles are known to be whole rows of C before it runs.
  virtual bool completes_rows() const = 0;
};

}  // namespace sheaf::runtime

// Products that take a factor and give their result part by part.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/thread_pool.h"

namespace sheaf::runtime {

// Some rows and columns of a matrix.
struct Part {
  int64_t row, rows, column, columns;
};
// A part of the result is complete; called by the thread that completed it. Together the parts are the whole.
using PartDone = function_ref<void(const Part&)>;

// Rows of the first factor are about to be read, by the thread that calls it: each row once. Gives where the first of
// them lies; they are as far apart as those of the factor. `again`: they are read later as well, and stay there; no
// rows give where that will be.
using RowsWanted = function_ref<const std::byte*(int64_t row, int64_t rows, bool again)>;

// What rows are made of, to be asked for ahead of time: one array, or none.
struct MadeOf {
  const std::byte* data = nullptr;
  int64_t step = 0;  // bytes from one row to the next
};

// What runs beside a product, on what is in a cache near the core.
struct Beside {
  const RowsWanted* wanted = nullptr;
  const PartDone* done = nullptr;
  MadeOf made_of = {};
};

// How a product runs with something beside it.
class PartwiseForm {
 public:
  virtual ~PartwiseForm() = default;
  virtual void run(std::span<std::byte* const> buffers, const Beside& beside) const = 0;
  // Whether the parts of the result are whole rows, as far as is known before it runs.
  virtual bool by_rows() const = 0;
};

}  // namespace sheaf::runtime

// Results that are ready part by part.
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
using PartDone = function_ref<void(const Part&)>;

// How a product runs that tells of its result part by part, while a part is still in a cache near the core that made it.
class PartwiseForm {
 public:
  virtual ~PartwiseForm() = default;
  // Calls `done` on each part once it is complete, by the thread that completed it. Together they are the whole.
  virtual void run(std::span<std::byte* const> buffers, PartDone done) const = 0;
  // Whether the parts are whole rows, as far as is known before it runs.
  virtual bool by_rows() const = 0;
};

}  // namespace sheaf::runtime

// A back end that needs no compiler: runs the vector axis of a kernel a few hundred elements at a time, one C++ loop
// per (operation, type). Same bits as the reference executor. A compiled kernel is immutable: many threads may run it.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "loop/ir.h"
#include "loop/library.h"

namespace sheaf::runtime {
class PackedForm;
class PartwiseForm;
}  // namespace sheaf::runtime

namespace sheaf::codegen {

class BlockKernel {
 public:
  static std::shared_ptr<const BlockKernel> compile(loop::Kernel kernel);
  virtual ~BlockKernel() = default;
  // Keeps the first failed check (by index) in `check`.
  virtual void run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                   loop::CheckRecord& check) const = 0;
  // About how long a run with these sizes takes one thread.
  virtual double estimated_ns(std::span<const int64_t> sizes) const = 0;
};

// How a product of one row by a matrix that stays the same runs with that matrix packed, or nullptr where that is not
// faster. Strides are those of a [k, n].
std::shared_ptr<const runtime::PackedForm> packed_row_form(DType dtype, int64_t n, int64_t k, int64_t stride_k,
                                                           int64_t stride_n);

// How a product of one pair of matrices runs that tells of its result part by part, or nullptr for integers; `args` are
// those of the routine `contract`.
std::shared_ptr<const runtime::PartwiseForm> partwise_product(std::vector<int64_t> args);

// Faster forms of the routines of loop/library.h, same bits; the plain one where there is none.
loop::Routine find_fast_routine(std::string_view name);

}  // namespace sheaf::codegen

// A back end that needs no run-time compiler: it interprets a kernel a few hundred elements of its vector axis at a
// time, one C++ loop per (operation, type). Same bits as the reference executor. A compiled kernel is immutable: many
// threads may run it.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "loop/ir.h"
#include "runtime/target.h"

namespace sheaf::codegen {

class BlockKernel {
 public:
  // Compiles for a target, which determines the arithmetic of the routines that the kernel calls.
  static std::shared_ptr<const BlockKernel> compile(loop::Kernel kernel,
                                                    const runtime::Target& target = runtime::host_target());
  virtual ~BlockKernel() = default;
  // Runs the kernel; stores the first failed check (by index) in `check`.
  virtual void run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                   loop::CheckRecord& check) const = 0;
  // Estimated time of a run with these sizes on one thread.
  virtual double estimated_ns(std::span<const int64_t> sizes) const = 0;
};

}  // namespace sheaf::codegen

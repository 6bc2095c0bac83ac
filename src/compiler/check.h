// --check: every launch runs in the block executor too, on memory of its own, and the results are compared bit for bit.
// On a device the executor gets copies of what the launch is about to read there.
#pragma once
#include <span>

#include "loop/ir.h"
#include "runtime/kernel.h"

namespace sheaf::compiler {

// A kernel that can be run in two ways.
class CheckableKernel : public runtime::CpuKernel {
 public:
  virtual int run_block(std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                        int64_t& payload) const = 0;
  virtual const loop::Kernel& kernel() const = 0;
};

// Code of a device that says which kernel it is.
class DeviceCheckable {
 public:
  virtual ~DeviceCheckable() = default;
  virtual const loop::Kernel& kernel() const = 0;
};

// From now on; the first difference throws std::runtime_error that names the launch, its place and the element.
void check_everything();

}  // namespace sheaf::compiler

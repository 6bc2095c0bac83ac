// --check: runs every launch a second time in the block executor, on separate memory, and compares the results bit for
// bit. For a device, the executor gets copies of the inputs that the launch is about to read there.
#pragma once
#include <span>

#include "loop/ir.h"
#include "runtime/kernel.h"

namespace sheaf::compiler {

// A kernel that the check can run in both ways.
class CheckableKernel : public runtime::CpuKernel {
 public:
  virtual int run_block(std::span<std::byte* const> buffers, std::span<const int64_t> sizes,
                        int64_t& payload) const = 0;
  virtual const loop::Kernel& kernel() const = 0;
};

// Device code that tells which kernel it came from.
class DeviceCheckable {
 public:
  virtual ~DeviceCheckable() = default;
  virtual const loop::Kernel& kernel() const = 0;
};

// Switches checking on. The first difference throws std::runtime_error that names the launch, its place and the
// element.
void check_everything();

}  // namespace sheaf::compiler

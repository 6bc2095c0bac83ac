// Runs steps with nested plans (calls, branches, loops) and host calls. `buffers`: those of the step, on its device.
#pragma once
#include "runtime/run_memory.h"

namespace sheaf::runtime {

// The operations that control steps need from a device.
class ControlDevice {
 public:
  virtual ~ControlDevice() = default;
  virtual void copy(std::byte* to, const std::byte* from, size_t bytes) = 0;
  virtual void store(std::byte* to, int64_t number) = 0;
  // Copies to the host; returns when the bytes have arrived.
  virtual void fetch(std::span<const Fetch> pieces) = 0;
  virtual Ref<Buffer> allocate(size_t bytes) = 0;
  virtual void run_nested(const Plan& plan, const Memory& memory) = 0;
};

void run_control(const HostStep& step, const Pointers& buffers, ControlDevice& on);
void run_control(const CallStep& step, const Pointers& buffers, ControlDevice& on);
void run_control(const CondStep& step, const Pointers& buffers, ControlDevice& on);
void run_control(const ScanStep& step, const Pointers& buffers, ControlDevice& on);
void run_control(const WhileStep& step, const Pointers& buffers, ControlDevice& on);

}  // namespace sheaf::runtime

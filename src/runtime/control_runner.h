// Runs steps that hold other plans, or call back. `buffers` are those of the step, on the device that runs it.
#pragma once
#include "runtime/run_memory.h"

namespace sheaf::runtime {

// What such steps do besides counting: how a device does it.
class ControlDevice {
 public:
  virtual ~ControlDevice() = default;
  virtual void copy(std::byte* to, const std::byte* from, size_t bytes) = 0;
  virtual void store(std::byte* to, int64_t number) = 0;
  // To the host, as soon as it is there.
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

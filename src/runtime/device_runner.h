// Runs plans on a device. Steps are submitted in order and the host goes on; it waits where it needs an answer: the
// predicate of a branch or loop, what a host call takes, and at the end of a plan whose checks may fail. Memory of the
// run goes back when all is submitted: what is submitted later comes later on the device too.
#pragma once
#include "runtime/device.h"

namespace sheaf::runtime {

class DeviceRunner final : public Runner {
 public:
  // Every launch of the plan is code of this device, and nothing in it runs inside a product.
  DeviceRunner(Plan plan, Device& device);
  const Plan& plan() const override { return plan_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {}) const override;

 private:
  Plan plan_;
  Device& device_;
  bool may_fail_;
};

// Waits for the steps of a run so far; throws CheckFailure where one has failed.
void finish(Device& device, const DeviceRun& run);

}  // namespace sheaf::runtime

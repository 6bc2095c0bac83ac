// Expands the steps of a plan into the launches, copies and stores that a device runs; calls and loops are expanded in
// place. The derived class decides what happens with them: submit (device_runner.cpp) or record (device_segment.cpp).
#pragma once
#include "runtime/control_runner.h"
#include "runtime/device.h"

namespace sheaf::runtime {

// True if a check of a plan, or of its nested plans, can fail.
bool can_fail(const Plan& plan);
// True if a step of the plan writes to an output that may take over donated memory. In a plan that can fail, its
// launches are guarded: donated inputs must be unchanged when the failed call is made again.
bool writes_given_up(const Step& step, const Plan& plan);

// The bytes that a launch accesses in each of its buffers.
SmallVec<ByteRange, 16> ranges_of(const Launch& l);

class DeviceWalk : public ControlDevice {
 protected:
  // `record`: the run's CheckRecord; nullptr if its plan cannot fail. `guarded`: the plan is nested in a guarded step.
  DeviceWalk(Device& device, std::byte* record, bool guarded) : device_(device), record_(record), guarded_(guarded) {}

  // `is_top`: the plan is the top-level plan, not nested in a step.
  void walk(const Step& step, const Plan& plan, const Memory& m, bool is_top);
  virtual void launch(DeviceLaunch launch, const Launch& l, const Plan& plan, const Memory& m) = 0;
  bool is_guarded() const { return guarded_; }

  Device& device_;
  std::byte* const record_;

 private:
  void run_one(const Launch& l, const Plan& plan, const Memory& m);
  void run_one(const ProductStep& step, const Plan& plan, const Memory& m);
  void run_one(const CopyStep& step, const Plan& plan, const Memory& m);
  template <class S>
  void run_one(const S& step, const Plan& plan, const Memory& m) {
    run_control(step, pointers(step, plan, m), *this);
  }

  bool guarded_;  // the current step of the top-level plan is guarded
};

}  // namespace sheaf::runtime

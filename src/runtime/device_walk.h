// Goes through the steps of a plan as a device runs them: launches, copies and numbers, those inside of calls and loops
// in their place. What becomes of them the derived class says: they are submitted (device_runner.cpp) or recorded
// (device_segment.cpp).
#pragma once
#include "runtime/control_runner.h"
#include "runtime/device.h"

namespace sheaf::runtime {

// Whether a check of a plan, or of the plans inside it, can fail.
bool can_fail(const Plan& plan);
// Whether a step of the plan writes to memory that an output may take over. In a plan that can fail its launches are
// guarded: what was given up must be as it was when the call is made again.
bool writes_given_up(const Step& step, const Plan& plan);

// The bytes that a launch touches of each of its buffers.
SmallVec<ByteRange, 16> ranges_of(const Launch& l);

class DeviceWalk : public ControlDevice {
 protected:
  // `record`: of the run; nullptr where its plan cannot fail. `guarded`: the plan is inside a step that is.
  DeviceWalk(Device& device, std::byte* record, bool guarded) : device_(device), record_(record), guarded_(guarded) {}

  // `is_top`: a plan that is run by itself, not one inside a step.
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

  bool guarded_;  // the step of the top plan that is at hand
};

}  // namespace sheaf::runtime

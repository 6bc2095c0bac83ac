// Runs plans on a device. The host submits steps in order without waiting. It waits only for data that it needs: the
// predicate of a branch or loop, the arguments of a host call, and at the end of a plan, in one wait, the requested
// outputs and the checks that may have failed. The memory of a run is freed once everything is submitted: later work
// runs later on the device too. From the second run of a plan on, steps that need no host data run as graphs.
#pragma once
#include <map>

#include "runtime/idle_memory.h"
#include "runtime/plan_graphs.h"

namespace sheaf::runtime {

// If set, replaces submitting a launch; `ranges` are filled in. Set it before anything runs.
extern void (*g_run_launch)(const Launch& l, DeviceLaunch launch, Device& device);

class DeviceRunner final : public Runner, private Executable {
 public:
  // Every launch of the plan is code of this device, and nothing in it runs inside a product.
  DeviceRunner(Plan plan, Device& device);
  ~DeviceRunner() override { forget(); }
  const Plan& plan() const override { return plan_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {},
                          std::span<const uint8_t> wanted_here = {}) const override;

 private:
  friend class DeviceRun;
  const Space& space() const override { return device_; }
  size_t scratch_bytes() const override { return plan_.scratch_bytes; }
  Span span() const override;
  bool drop_graphs() override;
  // Of this plan or one inside it; nullptr: its steps run one by one, as it has hardly run yet.
  using Parts = std::vector<std::unique_ptr<PlanPart>>;
  const Parts* parts(const Plan& plan, bool is_top, bool guarded) const;

  Plan plan_;
  Device& device_;
  bool can_fail_;
  struct Runs {
    int count = 0;
    Parts parts;
  };
  mutable Mutex mu_;
  mutable std::map<const Plan*, Runs> runs_ GUARDED_BY(mu_);
};

}  // namespace sheaf::runtime

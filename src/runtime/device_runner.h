// Runs plans on a device. Steps are submitted in order and the host goes on; it waits where it needs an answer: the
// predicate of a branch or loop, what a host call takes, and at the end of a plan for numbers that are wanted and for
// checks that may have failed, both at once. Memory of the run goes back when all is submitted: what is submitted later
// comes later on the device too. From the second run of a plan on, what needs nothing of the host runs as graphs.
#pragma once
#include <map>

#include "runtime/idle_memory.h"
#include "runtime/plan_graphs.h"

namespace sheaf::runtime {

// Set before anything runs: takes the place of submitting a launch. `ranges` are filled in.
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

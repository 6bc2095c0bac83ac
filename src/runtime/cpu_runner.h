// Runs plans on this processor: steps in order, each on all threads of the pool. A run uses scratch memory that its
// thread keeps between runs: a training loop allocates nothing after its first step.
#pragma once
#include "runtime/run_memory.h"
#include "runtime/runner.h"

namespace sheaf::runtime {

class CpuRunner final : public Runner {
 public:
  explicit CpuRunner(Plan plan) : plan_(std::move(plan)) {}
  const Plan& plan() const override { return plan_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {},
                          std::span<const uint8_t> wanted_here = {}) const override;

 private:
  std::vector<Tensor> run_once(std::span<const Tensor> inputs, std::span<const uint8_t> given_up) const;

  Plan plan_;
};

// The buffer that contains a place, if no step of the run changes its content; else nullptr.
const Buffer* unchanged_buffer(const Place& p, const Plan& plan, const Memory& memory);

// The kernel of a launch in a plan for this processor.
inline const CpuKernel& kernel_of(const Launch& launch) { return static_cast<const CpuKernel&>(*launch.kernel); }

// Runs one step of a plan; throws CheckFailure.
void run_step(const Step& step, const Plan& plan, const Memory& memory);
// Runs all steps of a nested plan and reports the time to the plan's watcher.
void run_nested(const Plan& plan, const Memory& memory);

// If set, replaces running the steps in order. Set it before anything runs.
extern void (*g_run_steps)(const Plan& plan, const Memory& memory);

// Frees the scratch memory that the calling thread keeps between runs.
void release_scratch();

}  // namespace sheaf::runtime

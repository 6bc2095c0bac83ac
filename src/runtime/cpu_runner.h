// Runs plans on this processor: one step after the other, each on all threads of the pool. Each run borrows scratch
// memory, which its thread keeps between runs: a training loop allocates nothing after its first step.
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

// The buffer that a place lies in if its content stays as it is, or nullptr.
const Buffer* unchanged_buffer(const Place& p, const Plan& plan, const Memory& memory);

// Of a plan for this processor.
inline const CpuKernel& kernel_of(const Launch& launch) { return static_cast<const CpuKernel&>(*launch.kernel); }

// One step of a plan; throws CheckFailure.
void run_step(const Step& step, const Plan& plan, const Memory& memory);
// All of them, told to the plan's watcher: how nested plans run.
void run_nested(const Plan& plan, const Memory& memory);

// Set before anything runs: takes the place of running one step after the other.
extern void (*g_run_steps)(const Plan& plan, const Memory& memory);

// Gives back the scratch memory that the calling thread keeps between runs.
void release_scratch();

}  // namespace sheaf::runtime

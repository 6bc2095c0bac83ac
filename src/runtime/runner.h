// Runs a plan on a device. Thread-safe: many threads may run one plan at once.
#pragma once
#include <span>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::runtime {

// A failed check, to be worded by the caller.
struct CheckFailure {
  int label;  // of the step
  int site;
  int64_t payload;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const Plan& plan() const = 0;
  // Inputs must be contiguous and of the planned sizes. The memory of those flagged in `given_up` (empty: none) belongs
  // to nobody else and may be written. Outputs flagged in `wanted_here` (empty: none) are small, and given on the host:
  // from a device they come with what the run waits for anyway. Throws CheckFailure, with all inputs as they were, or
  // Stopped.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {},
                                  std::span<const uint8_t> wanted_here = {}) const = 0;
};

// Asked between steps: true ends the run with Stopped. Set before anything runs.
extern bool (*g_stop_requested)();
struct Stopped {};

}  // namespace sheaf::runtime

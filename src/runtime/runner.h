// Runs a plan on a device. Thread-safe: many threads may run one plan at once.
#pragma once
#include <span>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::runtime {

// A failed check; the caller makes the message.
struct CheckFailure {
  int label;  // of the step
  int site;
  int64_t payload;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const Plan& plan() const = 0;
  // Inputs must be contiguous and of the planned sizes. Those flagged in `given_up` (empty: none) are donated: nobody
  // else holds their memory, and it may be written. Outputs flagged in `wanted_here` (empty: none) are small and are
  // returned on the host: a device copies them in the wait at the end of the run. Throws CheckFailure, with all inputs
  // unchanged, or Stopped.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up = {},
                                  std::span<const uint8_t> wanted_here = {}) const = 0;
};

// Called between steps: true ends the run with Stopped. Set before anything runs.
extern bool (*g_stop_requested)();
struct Stopped {};

}  // namespace sheaf::runtime

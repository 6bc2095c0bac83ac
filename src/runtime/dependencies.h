// Dependencies between the steps of a plan, for runners that run several steps at once.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/plan.h"

namespace sheaf::runtime {

// Step `after` may begin when step `before` has ended.
struct Dependency {
  enum Kind : uint8_t {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
    // An order not due to memory accesses. Host calls run in order, after the checks before them and before the checks
    // after them. Memory of a donated argument is written only when no earlier step can fail any more.
    Effect,
  } kind;
  int before, after;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// The dependencies of a plan, at most one for a pair of steps, sorted by `after`, then by `before`; `before` < `after`
// in plan order. Some that are implied by others are left out. An output is treated as the same memory as its donor.
std::vector<Dependency> dependencies(const Plan& plan);

// Identifies the buffer that contains a place: equal for places that may share bytes.
struct BufferId {
  Place::Kind kind;
  int index;
  friend auto operator<=>(const BufferId&, const BufferId&) = default;
};
BufferId buffer_of(const Place& p, const Plan& plan);
// True if a place is in an output that may take over the memory of an input (donation).
bool is_donated(const Place& p, const Plan& plan);

}  // namespace sheaf::runtime

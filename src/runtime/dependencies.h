// The order that the steps of a plan need, for runners that start several at once.
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
    // Not by memory. Host calls are made in order, after the checks that come before them and before those that come
    // after them. Memory of an argument is written when nothing can fail any more.
    Effect,
  } kind;
  int before, after;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// At most one for two steps; `before` comes before `after` in the plan. Ordered by `after`, then by `before`. Some that
// follow from others are left out. An output counts as the same memory as the input that it may take over.
std::vector<Dependency> dependencies(const Plan& plan);

// The buffer that a place lies in: equal for places that may share bytes.
struct BufferId {
  Place::Kind kind;
  int index;
  friend auto operator<=>(const BufferId&, const BufferId&) = default;
};
BufferId buffer_of(const Place& p, const Plan& plan);
// Whether a place is memory that an output may take over from an input.
bool is_donated(const Place& p, const Plan& plan);

}  // namespace sheaf::runtime

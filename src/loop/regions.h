// Facts about loops that back ends share: which of them run many iterations at a time, and what an iteration costs.
#pragma once
#include <vector>

#include "loop/ir.h"

namespace sheaf::loop {

// Whether the iterations of `s` (a Loop or a Reduce outside of other regions) run many at a time, being a *region*: a loop
// marked Vector; a Parallel loop with nothing better inside; a Reduce with no loop inside. Loops and reductions inside a
// region are serial and have the same extent for all of its iterations.
bool is_region(const Kernel& k, const Stmt& s);

bool contains_store(const Block& b);
bool contains_check(const Block& b);

// What statements cost, in nanoseconds: one element of a region, one elementary function of it, the start of a region by
// statement, a statement outside of regions, a call.
struct WorkRates {
  double element, elementary, start, scalar, call;
};
// ns times the product of the extents.
struct WorkTerm {
  double ns;
  std::vector<ValueId> extents;
};
// The work of one iteration of a parallel loop, as a sum over extents that are known where it starts. `region`: whether its
// own iterations run many at a time.
std::vector<WorkTerm> work_of(const Kernel& k, const Stmt& s, bool region, const WorkRates& rates);

}  // namespace sheaf::loop

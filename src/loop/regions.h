// Facts about loops that back ends share: which of them run many iterations at a time, and what an iteration costs.
#pragma once
#include <map>
#include <span>
#include <vector>

#include "loop/ir.h"

namespace sheaf::loop {

// Whether the iterations of `s` (a Loop or a Reduce outside of other regions) run many at a time, being a *region*: a
// loop marked Vector; a Parallel loop with nothing better inside; a Reduce with no loop inside. Loops and reductions
// inside a region are serial and have the same extent for all of its iterations.
bool is_region(const Kernel& k, const Stmt& s);

// Rows up to here may be worked on as lanes of vectors, a row in each. A kernel says that its rows are short by their
// extent: a constant, for code of their own, or the minimum of a size and a constant.
inline constexpr int64_t kShortRow = 31;

// The extent of the rows that a loop walks, one in each iteration: of reductions and Vector loops that hold nothing but
// values and stores, all with this extent and at least one of them a reduction, and else only values and stores between
// them. kNoValue if `s` is no such loop.
ValueId row_extent(const Kernel& k, const Stmt& s);

bool contains_store(const Block& b);
bool contains_check(const Block& b);

// What statements cost, in nanoseconds: one element of a region, one elementary function of it, the start of a region
// by statement, a statement outside of regions, a call.
struct WorkRates {
  double element, elementary, start, scalar, call;
};
// ns times the product of the extents.
struct WorkTerm {
  double ns;
  std::vector<ValueId> extents;
};
// The work of one iteration of a parallel loop, as a sum over extents that are known where it starts. `region`: whether
// its own iterations run many at a time.
std::vector<WorkTerm> work_of(const Kernel& k, const Stmt& s, bool region, const WorkRates& rates);

// The work of a whole kernel by its run-time sizes; an extent that is more than arithmetic on them counts as one.
class KernelWork {
 public:
  KernelWork(const Kernel& k, const WorkRates& rates);
  double ns(std::span<const int64_t> sizes) const;

 private:
  // Of a value outside of loops: a size, a constant, or arithmetic on earlier numbers.
  struct Number {
    Op op;
    int64_t imm;
    size_t a, b;
  };
  struct Term {
    double ns;
    std::vector<size_t> numbers;  // their product
  };
  size_t number(const Kernel& k, ValueId v);
  std::vector<Number> numbers_;
  std::map<ValueId, size_t> known_;
  std::vector<Term> terms_;
};

}  // namespace sheaf::loop

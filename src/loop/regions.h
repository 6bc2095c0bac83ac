// Analyses of loops that back ends share: which loops run as vector code, and the estimated cost of an iteration.
#pragma once
#include <map>
#include <span>
#include <vector>

#include "loop/ir.h"

namespace sheaf::loop {

// True if `s` (a Loop or a Reduce outside of other regions) is a *region*, whose iterations run many at a time: a loop
// marked Vector; a Parallel loop with nothing better inside; a Reduce with no loop inside. Loops and reductions inside
// a region are serial and have the same extent for all of its iterations.
bool is_region(const Kernel& k, const Stmt& s);

// Rows of at most this many elements may be vectorized across rows, one row per lane. A kernel states that its rows are
// short by their extent: a constant, which gets specialized code, or the minimum of a size and a constant.
inline constexpr int64_t kShortRow = 31;

// The extent of the rows that a loop processes, one in each iteration, or kNoValue if `s` is no such loop. Its body
// consists of values, stores, and reductions and Vector loops. At least one of these is a reduction; all have the
// returned extent and hold nothing but values and stores.
ValueId row_extent(const Kernel& k, const Stmt& s);

bool contains_store(const Block& b);
bool contains_check(const Block& b);

// Cost of statements in nanoseconds: of one element in a region, of one elementary function in a region, of the start
// of a region for each of its statements, of a statement outside of regions, of a call.
struct WorkRates {
  double element, elementary, start, scalar, call;
};
// ns times the product of the extents.
struct WorkTerm {
  double ns;
  std::vector<ValueId> extents;
};
// The work of one iteration of a parallel loop, as a sum of terms in extents that are known where the loop starts.
// `region`: the loop itself is a region.
std::vector<WorkTerm> work_of(const Kernel& k, const Stmt& s, bool region, const WorkRates& rates);

// The work of a whole kernel as a function of its run-time sizes. An extent not computed from sizes alone counts as 1.
class KernelWork {
 public:
  KernelWork(const Kernel& k, const WorkRates& rates);
  double ns(std::span<const int64_t> sizes) const;

 private:
  // A value outside of loops: a size, a constant, or arithmetic on earlier numbers.
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

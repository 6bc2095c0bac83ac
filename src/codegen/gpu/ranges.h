// How large the i64 values of a kernel get in a launch: bounds of loop variables, sizes and arithmetic on them. A value
// that cannot overflow is printed as plain arithmetic, in 32 bits where it fits; any other keeps the IR's total
// operations.
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "loop/ir.h"

namespace sheaf::codegen::gpu {

// Bounds that are exact: what lies beyond 2^52 is infinite, which says that nothing is known.
struct ValueRange {
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr double kNarrow = 1 << 30;  // sums of two, such as an index and a step, still fit into 32 bits
  double low = -kInfinite, high = kInfinite;
  bool is_narrow() const { return low >= -kNarrow && high <= kNarrow; }
};

class Ranges {
 public:
  Ranges(const loop::Kernel& k, std::span<const int64_t> sizes);
  const ValueRange& of(loop::ValueId v) const { return ranges_[v]; }
  // Fits into 32 bits.
  bool is_narrow(loop::ValueId v) const { return ranges_[v].is_narrow(); }
  // Whether plain arithmetic of C has the meaning of the value's operation: it does not overflow, and division is of
  // numbers that are not negative.
  bool is_plain(loop::ValueId v) const;

 private:
  void block(const loop::Block& b);
  ValueRange range(const loop::Inst& inst) const;

  const loop::Kernel& k_;
  std::vector<ValueRange> ranges_;
  std::map<int64_t, std::vector<loop::ValueId>> indices_;  // by axis
};

// The value of an extent, where it depends on sizes alone.
std::optional<int64_t> evaluate(const loop::Kernel& k, loop::ValueId v, std::span<const int64_t> sizes);

}  // namespace sheaf::codegen::gpu

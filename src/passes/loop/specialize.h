// Sizes and strides are run-time parameters of a kernel, so that one serves many shapes. Code that knows which strides
// are 0 or 1 is several times faster; a back end asks for it with `specialize`, and the caller checks that a launch
// fits.
#pragma once
#include <span>
#include <vector>

#include "loop/ir.h"

namespace sheaf::passes {

struct KnownSize {
  int index;  // of the run-time size
  int64_t value;
  friend bool operator==(const KnownSize&, const KnownSize&) = default;
};

// The run-time sizes that multiply the index of a region (loop/regions.h).
class StrideSizes {
 public:
  explicit StrideSizes(const loop::Kernel& k);
  std::span<const int> indices() const { return indices_; }
  // Those that are 0 or 1 in `sizes`.
  std::vector<KnownSize> known(std::span<const int64_t> sizes) const;

 private:
  std::vector<int> indices_;  // at most kMaxStrides: the others stay unknown
  static constexpr size_t kMaxStrides = 38;
};

// The kernel for launches with these sizes; it keeps all its parameters. Same bits.
loop::Kernel specialize(const loop::Kernel& k, const std::vector<KnownSize>& known);

}  // namespace sheaf::passes

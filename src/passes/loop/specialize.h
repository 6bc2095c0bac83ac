// Sizes and strides are run-time parameters of a kernel, so that one kernel serves many shapes. Code that knows which
// strides are 0 or 1 is several times faster: a back end creates it with `specialize`, and the caller checks that a
// launch matches.
#pragma once
#include <span>
#include <vector>

#include "loop/ir.h"

namespace sheaf::passes {

struct KnownSize {
  int index;  // which run-time size
  int64_t value;
  bool at_most = false;  // the size is `value` or less
  friend bool operator==(const KnownSize&, const KnownSize&) = default;
};

// The run-time sizes that multiply the index of a region (loop/regions.h).
class StrideSizes {
 public:
  explicit StrideSizes(const loop::Kernel& k);
  std::span<const int> indices() const { return indices_; }
  // The strides that are 0 or 1 in `sizes`.
  std::vector<KnownSize> known(std::span<const int64_t> sizes) const;

 private:
  std::vector<int> indices_;  // at most kMaxStrides: the others stay unknown
  static constexpr size_t kMaxStrides = 38;
};

// Short rows (loop/regions.h): the facts with which native code processes one row per vector lane.
class ShortRows {
 public:
  explicit ShortRows(const loop::Kernel& k);
  // Adds the row length, if rows are short and numerous, and each stride from row to row that is 0, 1 or, where the
  // length is known exactly, equal to the length.
  void add_known(std::span<const int64_t> sizes, std::vector<KnownSize>& known) const;
  // A distinct number for each set of facts that add_known can add.
  uint64_t pattern(std::span<const int64_t> sizes) const;

 private:
  static constexpr size_t kMaxStrides = 28;
  static constexpr int64_t kMinRows = 32;
  bool are_short(std::span<const int64_t> sizes) const;

  int length_ = -1, rows_ = -1;  // of the first loop over rows: run-time sizes, or -1
  std::vector<int> strides_;     // at most kMaxStrides
  int64_t longest_exact_ = 0;    // longest row that gets code of its own
};

// The facts of both classes, for one launch.
std::vector<KnownSize> known_sizes(const loop::Kernel& k, std::span<const int64_t> sizes);

// The kernel for launches with these sizes; it keeps all its parameters. Same bits.
loop::Kernel specialize(const loop::Kernel& k, const std::vector<KnownSize>& known);

}  // namespace sheaf::passes

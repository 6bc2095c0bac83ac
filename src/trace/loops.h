// Loops in traced code: traces one iteration to the body of a loop node, if the carried value keeps its form.
#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trace/traced.h"

namespace sheaf::trace {

// Loops with at most this trip count are unrolled: iterations then fuse with each other, and each may differ.
inline constexpr int64_t kMaxUnrolledTurns = 16;
// A longer loop that cannot become a node is unrolled up to this many nodes; beyond that the loop is interpreted, and
// the functions that it calls are compiled.
inline constexpr int64_t kMaxUnrolledNodes = 10'000;

// A loop of known trip count over the rows of `xs`. The body gets the index (a 0-d i64), the carried value and the
// rows, and returns the next carried value and an output.
struct LoopSpec {
  int64_t turns = 0;
  Value init;
  std::vector<Operand> xs;
  std::function<std::pair<Value, Value>(const Operand& index, Value carry, const std::vector<Operand>& rows)> body;
};

// The outputs of all iterations: the tree of one iteration, with each traced array replaced by the rows of a stacked
// one.
class Outputs {
 public:
  // Adds the output of an iteration that was peeled off before the loop.
  void add(Value output) { first_.push_back(std::move(output)); }
  void set_rest(Value tree, std::vector<Operand> stacked, int64_t turns) {
    tree_ = std::move(tree);
    stacked_ = std::move(stacked);
    turns_ = turns;
  }
  // One value per iteration.
  std::vector<Value> list() const;
  // Stacks leaf by leaf, through `join` if that involves more than the loop's own arrays (peeled iterations,
  // constants).
  Value stack(const std::function<Value(std::span<const Value>)>& join) const;

 private:
  std::vector<Value> first_;
  Value tree_;
  std::vector<Operand> stacked_;
  int64_t turns_ = 0;
};

struct LoopResult {
  Value carry;
  Outputs outputs;
};
// Returns nothing if the loop must be unrolled: the carried value changes its form between iterations, an iteration
// cannot be traced without a concrete index, or the loop is differentiated twice.
std::optional<LoopResult> trace_loop(const LoopSpec& loop);

// (while test [acc init] body); throws Untraceable if it cannot become a node.
Value trace_while(Value init, const std::function<Value(Value)>& test, const std::function<Value(Value)>& body);

}  // namespace sheaf::trace

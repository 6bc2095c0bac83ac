// Loops in traced code: one turn is traced to the body of a loop node, when the carried value keeps its form.
#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trace/traced.h"

namespace sheaf::trace {

// Loops with up to this many turns are unrolled: turns fuse with each other, and each may differ.
inline constexpr int64_t kMaxUnrolledTurns = 16;
// Longer ones that cannot be a node are unrolled up to so many nodes; beyond that the loop runs interpreted, and what
// it calls compiled.
inline constexpr int64_t kMaxUnrolledNodes = 10'000;

// A loop of a known number of turns over the rows of `xs`. The body gets the index (a 0-d i64), the carried value and
// the rows, and gives the next carried value and an output.
struct LoopSpec {
  int64_t turns = 0;
  Value init;
  std::vector<Operand> xs;
  std::function<std::pair<Value, Value>(const Operand& index, Value carry, const std::vector<Operand>& rows)> body;
};

// The outputs of all turns: the tree of one, with each traced array replaced by the rows of a stacked one.
class Outputs {
 public:
  // The output of a turn that was run by itself, before the loop.
  void add(Value output) { first_.push_back(std::move(output)); }
  void set_rest(Value tree, std::vector<Operand> stacked, int64_t turns) {
    tree_ = std::move(tree);
    stacked_ = std::move(stacked);
    turns_ = turns;
  }
  // One value for each turn.
  std::vector<Value> list() const;
  // Stacks leaf by leaf, by `join` where that needs more than the loop's own arrays (turns run by themselves,
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
// Nothing when the loop must be unrolled: the carried value changes its form from turn to turn, a turn cannot be traced
// without knowing which one it is, or the loop is differentiated twice.
std::optional<LoopResult> trace_loop(const LoopSpec& loop);

// (while test [acc init] body); throws Untraceable when it cannot be a node.
Value trace_while(Value init, const std::function<Value(Value)>& test, const std::function<Value(Value)>& body);

}  // namespace sheaf::trace

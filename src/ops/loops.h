// Loops as single nodes: a known number of turns over stacked arrays, or as many as a test allows.
#pragma once
#include "ops/control.h"

namespace sheaf::ops {

// `turns` times `body`: (index i64, carries, rows of xs, captures) -> (carries, rows of ys). xs and ys have the turns
// as axis 0; in reverse order when `reverse` is set. The outputs are the last carries, then ys.
struct Scan {
  GraphPtr body;
  int64_t turns = 0;
  bool reverse = false;
  std::vector<Operand> carries, xs, captures;
  // Of the xs, those whose rows were values of their own in the turns of another loop: what each turn adds to their
  // adjoints is added one by one, not as a sum.
  Sizes single_rows;
  int64_t order = 0;  // how many reverses it is the result of
};
std::vector<Operand> scan(Scan s);

// `body`: (carries, captures) -> carries, as long as `test`: (carries, captures) -> Bool is true.
std::vector<Operand> while_loop(GraphPtr test, GraphPtr body, std::vector<Operand> carries,
                                std::vector<Operand> captures);

// The rows of axis 0, one after the other, and back.
std::vector<Operand> unstack(const Operand& x);
Operand stack_rows(std::vector<Operand> rows);

}  // namespace sheaf::ops

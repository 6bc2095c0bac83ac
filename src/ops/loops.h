// Loops as single nodes: with a known trip count over stacked arrays, or controlled by a test.
#pragma once
#include "ops/control.h"

namespace sheaf::ops {

// Runs `body` `turns` times: (index i64, carries, rows of xs, captures) -> (carries, rows of ys). Axis 0 of xs and ys
// is the iteration, in reverse order if `reverse` is set. The outputs are the last carries, then ys.
struct Scan {
  GraphPtr body;
  int64_t turns = 0;
  bool reverse = false;
  std::vector<Operand> carries, xs, captures;
  // The xs whose rows were separate values in the iterations of another loop: each iteration's contributions to their
  // adjoints are added one by one, not as a sum.
  Sizes single_rows;
  int64_t order = 0;  // how many times reverse mode was applied to get it
};
std::vector<Operand> scan(Scan s);

// Runs `body`: (carries, captures) -> carries while `test`: (carries, captures) -> Bool is true.
std::vector<Operand> while_loop(GraphPtr test, GraphPtr body, std::vector<Operand> carries,
                                std::vector<Operand> captures);

// Splits an array into its rows along axis 0, and stacks rows.
std::vector<Operand> unstack(const Operand& x);
Operand stack_rows(std::vector<Operand> rows);

}  // namespace sheaf::ops

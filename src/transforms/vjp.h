// Reverse mode over a graph: applies the entries' rules in descending order of creation. The adjoints are ordinary
// operands: recorded as nodes if `record` is set (so that they can be differentiated again), else computed at once.
#pragma once
#include <vector>

#include "graph/node.h"

namespace sheaf::transforms {

using graph::Operand;

// Returns adjoints of `wrt` (nodes) from the adjoints `dy` of `y`. An entry is empty if no gradient flows to that node.
// Throws UserError (autodiff) naming an op without a rule.
std::vector<Operand> vjp(const std::vector<Operand>& y, const std::vector<Operand>& dy, const std::vector<Operand>& wrt,
                         bool record);

}  // namespace sheaf::transforms

// Reverse mode over a graph: applies the entries' rules, in descending order of creation. The adjoints are ordinary
// operands: recorded as nodes when `record` is set (so that they can be differentiated again), computed at once when
// not.
#pragma once
#include <vector>

#include "graph/node.h"

namespace sheaf::transforms {

using graph::Operand;

// Adjoints of `wrt` (nodes) given the adjoints `dy` of `y`. An entry is empty when nothing flows to it.
// Throws UserError (autodiff) naming an op without a rule.
std::vector<Operand> vjp(const std::vector<Operand>& y, const std::vector<Operand>& dy, const std::vector<Operand>& wrt,
                         bool record);

}  // namespace sheaf::transforms

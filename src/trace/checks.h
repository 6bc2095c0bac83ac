// Checks of unused results: indexed reads and writes, grouped products, and integer divisions. Interpreted code reports
// an index out of range and a divisor of zero even if nothing reads the result, so compiled code, which drops unused
// results, keeps the check.
#pragma once
#include "graph/graph.h"

namespace sheaf::trace {

// For those nodes of `checked` (ops that check indices, groups or divisors) that `g` drops, returns nodes that perform
// the same check and read nothing else. Leaves out checks that g performs anyway.
std::vector<Ref<graph::Node>> unused_checks(const std::vector<Ref<graph::Node>>& checked, const graph::Graph& g);

}  // namespace sheaf::trace

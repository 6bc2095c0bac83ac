// Indexed reads and writes, products of groups, and divisions of ints, whose result nobody uses. Interpreted code
// reports an index that is out of range and a divisor of zero all the same, so compiled code, which leaves out what
// nobody reads, keeps the check.
#pragma once
#include "graph/graph.h"

namespace sheaf::trace {

// Of the nodes in `checked`, ops that check their indices, groups or divisors, those that `g` leaves out: nodes that
// check the same and read nothing else. What g checks anyway is left alone.
std::vector<Ref<graph::Node>> unused_checks(const std::vector<Ref<graph::Node>>& checked, const graph::Graph& g);

}  // namespace sheaf::trace

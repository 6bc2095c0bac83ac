// Control flow on traced values: traces both branches, or one iteration of a loop, to sub-graphs of one node.
#pragma once
#include <functional>
#include <optional>

#include "trace/traced.h"

namespace sheaf::trace {

// The truth of a traced value if it is known, or follows from numbers among the function's arguments. In the second
// case the compiled code only serves calls in which it has the same value.
std::optional<bool> known_truth(const Value& traced);
// The truth of a traced scalar or 0-d tensor as a 0-d Bool.
Operand truth_operand(const Value& traced);

// The value of `yes` or `no`, by `condition`; traces both. A branch that raises an error ends the compiled run if it is
// taken, and the interpreter takes over. Throws Untraceable if the results differ in more than the values of arrays.
Value trace_cond(const Value& condition, const std::function<Value()>& yes, const std::function<Value()>& no);

// f's value as one node that the backward pass recomputes.
Value trace_checkpoint(const std::function<Value()>& f);

}  // namespace sheaf::trace

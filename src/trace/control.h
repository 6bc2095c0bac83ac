// Control flow on traced values: both ways of a branch, and one turn of a loop, are traced to sub-graphs of one node.
#pragma once
#include <functional>
#include <optional>

#include "trace/traced.h"

namespace sheaf::trace {

// The truth of a traced value when it can be told now: it is known, or follows from numbers the function was called
// with (then the compiled code is for calls where it comes out the same).
std::optional<bool> known_truth(const Value& traced);
// The truth of a traced scalar or 0-d tensor as a 0-d Bool.
Operand truth_operand(const Value& traced);

// The value of `yes` or `no`, by `condition`; both are run. A branch that raises an error ends the compiled run when it
// is taken, and the interpreter takes over. Throws Untraceable when the results differ in more than the values of
// arrays.
Value trace_cond(const Value& condition, const std::function<Value()>& yes, const std::function<Value()>& no);

// f's value as one node that is computed again in the backward pass.
Value trace_checkpoint(const std::function<Value()>& f);

}  // namespace sheaf::trace

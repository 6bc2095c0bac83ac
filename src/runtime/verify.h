// Verifies the invariants of a plan by simulating it step by step, tracking the value that each byte holds. Assumes
// that every possible donation (an output takes over the memory of an input) happens.
//
// - A step reads only inputs, constants, or values that were written before and not overwritten since.
// - Inputs and constants are not written, except donated inputs. After that no step reads the input, and no step may
//   fail: the call could not be made again.
// - A step overwrites an array that it reads only if that is safe: a launch may, elementwise, over an array of the same
//   extent. A product calls its prologue and epilogue while it runs, so the epilogue must not overwrite anything that
//   the product reads.
// - All accesses are inside their buffer, and at the end the outputs hold their values.
//
// Accesses are known as ranges only: the gaps between elements count as accessed.
#pragma once
#include <string>

#include "runtime/plan.h"

namespace sheaf::runtime {

// Describes the first violation in a plan; empty if there is none. Nested plans are not checked: verify each by itself.
std::string problem_of(const Plan& plan);
// Throws an internal error if there is a violation.
void verify(const Plan& plan);

}  // namespace sheaf::runtime

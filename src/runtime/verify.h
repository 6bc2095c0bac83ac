// What must hold of every plan. It is followed step by step, with the value that each byte holds at hand. Memory that
// outputs may take over from inputs is taken over.
//
// - What is read is an input, a constant, or a value that was written there and is there still.
// - Inputs and constants are not written, but for memory that an output takes over. Nothing reads that input
//   afterwards, and no step that may fail comes afterwards: the call could not be made again.
// - A step writes over what it reads only where it may: a launch, over an array of the same extent, element by element.
//   A product calls its prologue and epilogue while it runs, so the epilogue writes over nothing that the product
//   reads.
// - All bytes lie in their buffer, and in the end the outputs hold their values.
//
// Ranges are all that is known of an access: bytes that a step leaves out between two that it touches count as touched.
#pragma once
#include <string>

#include "runtime/plan.h"

namespace sheaf::runtime {

// What is wrong with a plan, at the first step where something is; or nothing. Nested plans are not looked at: each is
// a plan of its own.
std::string problem_of(const Plan& plan);
// Throws an internal error where something is.
void verify(const Plan& plan);

}  // namespace sheaf::runtime

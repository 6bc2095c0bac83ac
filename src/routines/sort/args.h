// The routines that order rows or run along an axis.
#pragma once
#include "routines/routine.h"

namespace sheaf::routines {

// Sorts each row, stably, NaN last, and keeps the first `count` elements. Buffers: x [rows, n], values [rows, count],
// positions [rows, count] (i32); x may be values. Arguments: dtype, rows, n, descending, count.
void sort(const CallArgs& c);

// Running sum, product or maximum along the middle axis of x [outer, n, inner]; narrow floats are accumulated in f32.
// Buffers: x, y. Arguments: dtype, outer, n, inner, what (0 sum, 1 product, 2 maximum).
void cumulate(const CallArgs& c);

}  // namespace sheaf::routines

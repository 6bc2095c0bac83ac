// Windows over the last axes of an array, for convolution and pooling. The two are adjoint to each other.
#pragma once
#include "ops/apply.h"

namespace sheaf::ops {

// Windows of x [lead…, n…] as [lead…, size…, out…] with out = (n - (size - 1) * dilation - 1) // stride + 1 per axis.
// The three lists have one entry for each of the last axes. A view: copies nothing.
Operand window(Operand x, Sizes size, Sizes stride, Sizes dilation);
// The adjoint, for [lead…, size…, out…]: adds every element where it was read, in an array [lead…, sizes…] of zeros.
Operand unwindow(Operand y, Sizes sizes, Sizes stride, Sizes dilation);

}  // namespace sheaf::ops

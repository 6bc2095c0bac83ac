// The element of an op that is one operation of the loop IR.
#pragma once
#include "graph/op_def.h"
#include "loop/builder.h"

namespace sheaf::ops {

template <loop::Op kOp>
uint32_t scalar_unary(graph::ScalarCtx& c) {
  return c.b.unary(kOp, c.x[0]);
}
template <loop::Op kOp>
uint32_t scalar_binary(graph::ScalarCtx& c) {
  return c.b.binary(kOp, c.x[0], c.x[1]);
}

}  // namespace sheaf::ops

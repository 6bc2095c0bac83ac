// Linear equations, determinants and Cholesky factors, as routines of the kernel library. All arithmetic is in double,
// in an order that the sizes alone decide: the same bits on every machine.
#pragma once
#include "loop/library.h"

namespace sheaf::loop {

// Buffers A, B, X; args dtype (F32 or F64), batch, n, k. A [batch, n, n] X = B [batch, n, k]; infinities or NaN where A
// is singular.
void solve(const CallArgs& c);
// Buffers A, D; args dtype, batch, n. Determinants [batch].
void det(const CallArgs& c);
// Buffers A, L; args dtype, batch, n. L L^T = (A + A^T) / 2, L lower triangular; NaN where that is not positive
// definite.
void cholesky(const CallArgs& c);

}  // namespace sheaf::loop

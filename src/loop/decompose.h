// Eigenvalues of symmetric matrices and singular values, as routines of the kernel library. All arithmetic is in
// double, in an order that the sizes alone decide, of additions, products, quotients and square roots: the same bits on
// every machine.
#pragma once
#include "loop/library.h"

namespace sheaf::loop {

// Buffers A, W, V; args dtype (F32 or F64), batch, n. Of (A + A^T) / 2, [batch, n, n]: eigenvalues rising in W, vectors
// in the columns of V.
void eigh(const CallArgs& c);
// Buffers A, U, S, V; args dtype, batch, m, n with m >= n. A [batch, m, n] = U diag(S) V^T, S falling, U [batch, m, n].
void svd(const CallArgs& c);
// NaN in a matrix, an infinity, or (which has not been seen) no convergence makes all results of that matrix NaN.

}  // namespace sheaf::loop

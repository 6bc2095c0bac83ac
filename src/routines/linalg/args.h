// Matrix decompositions, linear equations, determinants and Cholesky factors as routines. All arithmetic is in double,
// in an order that the sizes alone decide, of additions, products, quotients and square roots: the same bits on every
// machine.
#pragma once
#include "routines/routine.h"

namespace sheaf::routines {

// Buffers A, W, V; args dtype (F32 or F64), batch, n. Of (A + A^T) / 2, [batch, n, n]: eigenvalues rising in W, vectors
// in the columns of V.
void eigh(const CallArgs& c);
// Buffers A, U, S, V; args dtype, batch, m, n with m >= n. A [batch, m, n] = U diag(S) V^T, S falling, U [batch, m, n].
void svd(const CallArgs& c);
// NaN in a matrix, an infinity, or (which has not been seen) no convergence makes all results of that matrix NaN.

// Buffers A, B, X; args dtype (F32 or F64), batch, n, k. A [batch, n, n] X = B [batch, n, k]; infinities or NaN where A
// is singular.
void solve(const CallArgs& c);
// Buffers A, D; args dtype, batch, n. Determinants [batch].
void det(const CallArgs& c);
// Buffers A, L; args dtype, batch, n. L L^T = (A + A^T) / 2, L lower triangular; NaN where that is not positive
// definite.
void cholesky(const CallArgs& c);

}  // namespace sheaf::routines

// Matrix decompositions, linear equations, determinants and Cholesky factors as routines. All arithmetic is in double,
// in an order that the sizes alone decide, of additions, products, quotients and square roots: the same bits on every
// machine. Matrices are contiguous, of F32 or F64.
#pragma once
#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// A batch of square matrices [batch, n, n].
template <class Int>
struct SquareArgs {
  DType dtype;
  Int batch, n;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.batch), f(self.n); }
};

template <class Int = int64_t>
struct EighArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "eigh";
};
template <class Int = int64_t>
struct DetArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "det";
};
template <class Int = int64_t>
struct CholeskyArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "cholesky";
};

template <class Int = int64_t>
struct SvdArgs {
  static constexpr std::string_view kRoutine = "svd";
  DType dtype;
  Int batch, m, n;  // m >= n
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.batch), f(self.m), f(self.n); }
};

template <class Int = int64_t>
struct SolveArgs {
  static constexpr std::string_view kRoutine = "solve";
  DType dtype;
  Int batch, n, columns;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.batch), f(self.n), f(self.columns); }
};

// Of (A + A^T) / 2: eigenvalues rising in W, vectors in the columns of V. Buffers: A, W, V.
void eigh(const RoutineCall& call, const EighArgs<>& args);
// A [batch, m, n] = U diag(S) V^T, S falling, U [batch, m, n]. Buffers: A, U, S, V.
void svd(const RoutineCall& call, const SvdArgs<>& args);
// Of both: NaN in a matrix, an infinity, or (which has not been seen) no convergence makes all results of that matrix
// NaN.

// A X = B [batch, n, columns]; infinities or NaN where A is singular. Buffers: A, B, X.
void solve(const RoutineCall& call, const SolveArgs<>& args);
// Determinants [batch]. Buffers: A, D.
void det(const RoutineCall& call, const DetArgs<>& args);
// L L^T = (A + A^T) / 2, L lower triangular; NaN where that is not positive definite. Buffers: A, L.
void cholesky(const RoutineCall& call, const CholeskyArgs<>& args);

}  // namespace sheaf::routines

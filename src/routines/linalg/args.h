// Matrix decompositions, linear equations, determinants and Cholesky factors as routines. Matrices are contiguous, of
// F32 or F64. Arithmetic is in their dtype; eigenvalues and singular values are found in double. The order of
// operations depends on the sizes alone, and all of them are additions, products, quotients and square roots: the same
// bits on every machine.
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
struct EigvalshArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "eigvalsh";
};
template <class Int = int64_t>
struct DetArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "det";
};
template <class Int = int64_t>
struct SlogdetArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "slogdet";
};
template <class Int = int64_t>
struct CholeskyArgs : SquareArgs<Int> {
  static constexpr std::string_view kRoutine = "cholesky";
};

// A batch of matrices [batch, m, n].
template <class Int>
struct MatrixArgs {
  DType dtype;
  Int batch, m, n;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.batch), f(self.m), f(self.n); }
};

template <class Int = int64_t>
struct SvdArgs : MatrixArgs<Int> {  // m >= n
  static constexpr std::string_view kRoutine = "svd";
};
template <class Int = int64_t>
struct SvdvalsArgs : MatrixArgs<Int> {  // m >= n
  static constexpr std::string_view kRoutine = "svdvals";
};
template <class Int = int64_t>
struct QrArgs : MatrixArgs<Int> {  // m >= n
  static constexpr std::string_view kRoutine = "qr";
};
template <class Int = int64_t>
struct LuArgs : MatrixArgs<Int> {
  static constexpr std::string_view kRoutine = "lu";
};

template <class Int = int64_t>
struct SolveArgs {
  static constexpr std::string_view kRoutine = "solve";
  DType dtype;
  Int batch, n, columns;
  static void fields(auto& self, auto&& f) { f(self.dtype), f(self.batch), f(self.n), f(self.columns); }
};

// Of a triangle of a matrix the rest of which is not read; `unit`: nor its diagonal, which counts as ones.
template <class Int = int64_t>
struct SolveTriangularArgs {
  static constexpr std::string_view kRoutine = "solve_triangular";
  DType dtype;
  Int batch, n, columns;
  bool upper, transposed, unit;
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.batch), f(self.n), f(self.columns), f(self.upper), f(self.transposed), f(self.unit);
  }
};

// Of (A + A^T) / 2: eigenvalues rising in W, vectors in the columns of V. Buffers: A, W, V.
void eigh(const RoutineCall& call, const EighArgs<>& args);
// A [batch, m, n] = U diag(S) V^T, S falling, U [batch, m, n]. Buffers: A, U, S, V.
void svd(const RoutineCall& call, const SvdArgs<>& args);
// W and S alone, by steps that need no vectors: they may differ from those above in the last bits. Buffers: A, W; A, S.
void eigvalsh(const RoutineCall& call, const EigvalshArgs<>& args);
void svdvals(const RoutineCall& call, const SvdvalsArgs<>& args);
// Of all four: NaN in a matrix, an infinity, or (which has not been seen) no convergence makes all results of that
// matrix NaN.

// A X = B [batch, n, columns]; infinities or NaN where A is singular. Buffers: A, B, X.
void solve(const RoutineCall& call, const SolveArgs<>& args);
// A X = B or A^T X = B [batch, n, columns] for the upper or lower triangle of A. Buffers: A, B, X.
void solve_triangular(const RoutineCall& call, const SolveTriangularArgs<>& args);
// Determinants [batch]. Buffers: A, D.
void det(const RoutineCall& call, const DetArgs<>& args);
// Their signs (0 of a singular matrix) and the logarithms of their magnitudes, both [batch]. Buffers: A, S, L.
void slogdet(const RoutineCall& call, const SlogdetArgs<>& args);
// Row P[i] of A is row i of L U; P [batch, m] (i32). F [batch, m, n] has U, and below the diagonal L, of which the
// diagonal is ones. Buffers: A, F, P.
void lu(const RoutineCall& call, const LuArgs<>& args);
// L L^T = (A + A^T) / 2, L lower triangular; NaN where that is not positive definite. Buffers: A, L.
void cholesky(const RoutineCall& call, const CholeskyArgs<>& args);

// A [batch, m, n] = Q R, Q [batch, m, n] with orthonormal columns, R [batch, n, n] upper triangular; NaN of a matrix
// that is not finite. The signs are LAPACK's. Buffers: A, Q, R.
void qr(const RoutineCall& call, const QrArgs<>& args);

}  // namespace sheaf::routines

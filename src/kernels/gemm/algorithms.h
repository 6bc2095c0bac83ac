// GEMM algorithms for C[M,N] = A[M,K] B[K,N] on the micro-kernels of micro_kernels.h; those for few rows are in
// few_rows.h. They differ in which operands they pack and how threads divide the work; all give the bits of
// routines/gemm/args.h. S is the type in memory, T the type of the arithmetic: float for narrow floats, else S. With a
// `Fusion` they call its prologue before they read rows of A, once per row, and its epilogue after each tile of C.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/gemm/packing.h"
#include "runtime/fusion.h"

namespace sheaf::kernels {

using runtime::EpilogueFn;
using runtime::Fusion;

// A view of A whose rows [row, row + rows) are ready to be read: calls the prologue, if there is one. `keep`: the rows
// stay valid for later reads without another call.
template <class S>
MatrixView<S> with_rows(const MatrixView<S>& a, const Fusion& fusion, int64_t row, int64_t rows, bool keep = false) {
  if (!fusion.prologue) return a;
  return {reinterpret_cast<const S*>((*fusion.prologue)(row, rows, keep)) - row * a.minor, a.minor, a.k};
}

// Packed GEMM, for any product of many rows. All threads pack A; each task then computes a strip of columns and packs
// its panels of B (if rows of B are contiguous, the first tile packs while it computes), and prefetches the next panel
// while it computes one. Transposed operands change only how packing reads. `rank`: use the task grid of this rank by
// estimated time, for autotuning.
template <class T, class S>
void gemm_packed(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k, int rank = 0,
                 const Fusion& fusion = {});

// One block of k, many rows: all of B is packed and stays in L2; C is written row by row.
template <class T, class S>
void gemm_shallow(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                  const Fusion& fusion = {});

// The same two with bf16 dot-product instructions (scalar/bf16_dot.h); the first takes any product of several rows and
// columns.
void gemm_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t m, int64_t n,
                   int64_t k, const Fusion& fusion = {});
void gemm_shallow_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t m, int64_t n,
                           int64_t k, const Fusion& fusion = {});

// Several rows and columns on a matrix unit (Arithmetic::bf16_tiles); the result is f32, or rounded to bf16.
template <class Out>
void gemm_amx(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, Out* c, int64_t m, int64_t n, int64_t k,
              const Fusion& fusion = {});

// Many rows, few columns, rows of A contiguous: A is read in place, and B packed.
template <class T, class S>
void gemm_unpacked_a(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                     const Fusion& fusion = {});

// Some rows, columns of B contiguous: B is read in place, and A packed.
template <class T, class S>
void gemm_unpacked_b(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                     const EpilogueFn* epilogue = nullptr);

// A transposed, B row-major (as in the gradient of a weight): a sum of outer products. Nothing is packed; partial sums
// are carried along k.
template <class T>
void gemm_outer(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
                const EpilogueFn* epilogue = nullptr);

// B fits in the core's caches and k is one block; rows or columns of A are contiguous. A is read in place, and so is B
// if its rows are contiguous and a whole number of vectors.
template <class T>
void gemm_small(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
                const Fusion& fusion = {});

}  // namespace sheaf::kernels

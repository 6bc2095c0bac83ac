// Algorithms for C[M,N] = A[M,K] B[K,N] by the register tiles of micro_kernels.h; those of few rows are in few_rows.h.
// They differ in what they copy and in what threads share; all give the bits of routines/gemm/args.h. S is what memory
// holds, T what is computed in: float for the narrow floats, else S. Algorithms that take a `Fusion` call its
// prologue before they read rows of A, once for each row, and its epilogue after they complete a tile of C.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/gemm/packing.h"
#include "runtime/fusion.h"

namespace sheaf::kernels {

using runtime::EpilogueFn;
using runtime::Fusion;

// A with the rows [row, row + rows) ready to be read: made by the prologue, if there is one. `keep`: they are read
// later as well, when the prologue is not called any more.
template <class S>
MatrixView<S> with_rows(const MatrixView<S>& a, const Fusion& fusion, int64_t row, int64_t rows, bool keep = false) {
  if (!fusion.prologue) return a;
  return {reinterpret_cast<const S*>((*fusion.prologue)(row, rows, keep)) - row * a.minor, a.minor, a.k};
}

// Packed GEMM: any product of many rows. All threads pack A; each task then computes a strip of columns and packs its
// panels of B, as a by-product of the first tile where rows of B are contiguous, and prefetches the next panel while it
// computes one. Transposed operands only change how packing reads. `rank` is that of the grid of tasks by estimated
// time.
template <class T, class S>
void gemm_packed(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k, int rank = 0,
                 const Fusion& fusion = {});

// One block of k, many rows: all of B is packed and stays in the second-level cache; C is written row by row.
template <class T, class S>
void gemm_shallow(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                  const Fusion& fusion = {});

// Both by bf16 dot-product instructions (scalar/bf16_dot.h); the first is for any product of several rows and columns.
void gemm_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t m, int64_t n,
                   int64_t k, const Fusion& fusion = {});
void gemm_shallow_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t m, int64_t n,
                           int64_t k, const Fusion& fusion = {});

// Several rows and columns by a matrix unit (Arithmetic::bf16_tiles); the result is f32, or rounded to bf16.
template <class Out>
void gemm_amx(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, Out* c, int64_t m, int64_t n, int64_t k,
              const Fusion& fusion = {});

// Many rows, few columns, rows of A contiguous: A is read where it is, and B packed.
template <class T, class S>
void gemm_unpacked_a(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                     const Fusion& fusion = {});

// Some rows, columns of B contiguous: B is read where it is, and A packed.
template <class T, class S>
void gemm_unpacked_b(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                     const EpilogueFn* epilogue = nullptr);

// Rows of both factors contiguous along C, as in the gradient of a weight: nothing is packed, sums are carried along k.
template <class T>
void gemm_outer(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
                const EpilogueFn* epilogue = nullptr);

// B fits in the caches near the core and k in one block; rows or columns of A are contiguous. A is read where it is,
// and B too where its rows are contiguous and end with a vector.
template <class T>
void gemm_small(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
                const Fusion& fusion = {});

}  // namespace sheaf::kernels

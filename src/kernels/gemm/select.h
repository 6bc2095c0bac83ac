// Chooses the algorithm for C[M,N] = A[M,K] B[K,N]. Every algorithm gives the same bits; which is fastest depends on
// the shape, the strides and the processor. select.cpp has the table of algorithms and the decision list.
// --max-autotune times all applicable ones instead; --emit=plan prints the choice.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/packing.h"
#include "kernels/gemm/thresholds.h"
#include "routines/gemm/args.h"

namespace sheaf::kernels {

// The facts on which the choice depends. A product by one column is described as the transposed product of one row.
struct GemmProblem {
  struct Strides {
    int64_t minor, k;  // from one row of A or column of B to the next, and along k
  };
  int64_t m, n, k;
  Strides a, b;
  int64_t element_bytes, sum_bytes;       // of elements in memory, and of the accumulator
  bool bf16_dot, bf16_tiles;              // dot-product instructions, or a matrix unit, define the result bits
  int64_t lanes, tile_rows, small_width;  // of the micro-kernels: elements of a vector, rows and columns of tiles
  const GemmThresholds& limits;

  bool narrow() const { return element_bytes < sum_bytes; }
  int64_t vector_bytes() const { return lanes * sum_bytes; }
  bool wide_vectors() const { return vector_bytes() > 16; }
  bool fills_vectors() const { return n % lanes == 0; }  // rows of B are whole vectors
};

template <class T, class S>
GemmProblem gemm_problem(const MatrixView<S>& a, const MatrixView<S>& b, int64_t m, int64_t n, int64_t k,
                         routines::Arithmetic arithmetic) {
  const GemmKernels<T>& kern = gemm_kernels<T>();
  return {m,
          n,
          k,
          {a.minor, a.k},
          {b.minor, b.k},
          sizeof(S),
          sizeof(T),
          arithmetic.bf16_dot && std::is_same_v<S, BFloat16>,
          arithmetic.bf16_tiles && std::is_same_v<S, BFloat16> && m > 1,
          kern.lanes,
          kern.rows,
          kern.small_vectors * kern.lanes,
          gemm_thresholds(kern.lanes * int64_t(sizeof(T)))};
}

enum class GemmAlgorithm : uint8_t {
  UnpackedA,
  Small,
  Stream,
  UnpackedB,
  Outer,
  Swapped,
  Shallow,
  Packed,
  Packed2,
  Packed3,
  Packed4,
  FewRowsTransposed,
  FewRowsPacked,
  Bf16Dot,
  Amx
};

struct GemmAlgorithmInfo {
  std::string_view name;
  bool (*works)(const GemmProblem&);  // applicable: correct, and without much extra memory; not necessarily fast
  bool takes_rows;                    // supports a prologue: calls it before it reads rows of A
  bool tells_tiles;                   // supports an epilogue: calls it for completed tiles of C
  bool tells_rows;                    // these tiles are whole rows
};
std::span<const GemmAlgorithmInfo> gemm_algorithms();  // by GemmAlgorithm
inline const GemmAlgorithmInfo& info(GemmAlgorithm a) { return gemm_algorithms()[static_cast<size_t>(a)]; }

struct GemmChoice {
  GemmAlgorithm algorithm;
  std::string_view why;
};
GemmChoice choose(const GemmProblem& p);

// True if there is one block of k and there are many rows, packed B fits in L2, and C does not. The sizes are those of
// an element of packed B and of C.
bool is_shallow(int64_t m, int64_t n, int64_t k, int64_t packed_bytes, int64_t result_bytes);

}  // namespace sheaf::kernels

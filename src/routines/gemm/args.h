// GEMM as a routine, `contract`: its arguments and its order of summation, which alone determine the result bits.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// Strides in elements.
template <class Int>
struct MatrixStrides {
  Int batch, row, column;
};

// Buffers: a [batch, m, k], b [batch, k, n], c [batch, m, n], which is contiguous unless `line` is given.
template <class Int = int64_t>
struct GemmArgs {
  static constexpr std::string_view kRoutine = "contract";
  DType dtype;
  Int batch, m, n, k;
  MatrixStrides<Int> a, b;
  DType result;  // of c: dtype, or I32 for I8; for BF16 and F16 also F32, their accumulator type
  // Leading dimension of c: elements from one row to the next; 0: n. The padding between rows may be overwritten.
  Int line{};
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.batch), f(self.m), f(self.n), f(self.k);
    f(self.a.batch), f(self.a.row), f(self.a.column);
    f(self.b.batch), f(self.b.row), f(self.b.column);
    f(self.result), f(self.line);
  }
};
inline int64_t line_of(const GemmArgs<>& g) { return g.line == 0 ? g.n : g.line; }

void contract(const RoutineCall& call, const GemmArgs<>& args);

// Contractions sum over k in blocks of at most this many terms: inside a block, chains of fused multiply-adds in order
// of k that start from zero; then the value of the block is added to the total so far. All blocks but the last have the
// same length, so that threads can split them.
inline constexpr int64_t kContractBlock = 512;
constexpr int64_t contract_block(int64_t k) {
  constexpr int64_t kMultiple = 32;
  int64_t blocks = std::max<int64_t>(1, (k + kContractBlock - 1) / kContractBlock), each = (k + blocks - 1) / blocks;
  return std::max(kMultiple, (each + kMultiple - 1) / kMultiple * kMultiple);
}

// With Arithmetic::bf16_dot a chain of bf16 adds two terms at a time (scalar/bf16_dot.h).

// With Arithmetic::bf16_tiles a product of bf16 with several rows and columns has no blocks: groups of kBf16TileTerms k
// are added to the total in order.
constexpr bool sums_by_tiles(Arithmetic arithmetic, DType dtype, int64_t m, int64_t n) {
  return arithmetic.bf16_tiles && dtype == DType::BF16 && m > 1 && n > 1;
}

// A longer sum is cut into parts of at most this many terms. Each part is a contraction as above; their values are
// added pairwise: two adjacent parts, then two such sums, and so on, like the carries of a binary counter. Rounding
// errors then grow with the logarithm of k.
inline constexpr int64_t kContractPart = 16384;
constexpr int64_t contract_part(int64_t k) {
  int64_t parts = std::max<int64_t>(1, (k + kContractPart - 1) / kContractPart), each = (k + parts - 1) / parts;
  return parts == 1 ? k : (each + kContractBlock - 1) / kContractBlock * kContractBlock;
}

// A block is one chain; in a GEMV (one row or one column) it is four, and chain c takes every fourth k from c on. A
// GEMV is bound by reading the matrix: for a contiguous column the four chains are the lanes of a vector, in the order
// of memory.
inline constexpr int64_t kRowChains = 4;
constexpr int64_t contract_chains(int64_t m, int64_t n) { return m == 1 || n == 1 ? kRowChains : 1; }
// The value of a block of four chains, whose accumulators are `apart` elements apart.
template <class T>
constexpr T sum_of_chains(const T* sums, int64_t apart) {
  return (sums[0] + sums[apart]) + (sums[2 * apart] + sums[3 * apart]);
}

}  // namespace sheaf::routines

// A sum has four chains; each takes every fourth pair of k (routines/gemm/args.h). If columns are contiguous, the
// chains are the lanes of a vector; if rows are contiguous, a vector holds one chain of several columns, and pairs of
// rows are interleaved.
#include "kernels/gemm/gemv_bf16_dot.h"

#include <algorithm>
#include <cstring>

#include "kernels/gemm/few_rows.h"
#include "routines/gemm/args.h"
#include "support/error.h"
#include "support/ivdep.h"
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>

#include "kernels/simd/simd.h"
#endif

namespace sheaf::kernels {

#if defined(__aarch64__) || defined(__x86_64__)
namespace {

constexpr int kChains = routines::kRowChains;
constexpr int kLine = 64 / sizeof(BFloat16);    // elements
constexpr int kRounds = kLine / (2 * kChains);  // rounds of all chains in a line

#include "kernels/simd/bf16_dot_begin.h"
#if defined(__aarch64__)
#include "kernels/gemm/gemv_bf16_dot_neon.h"
#else
#include "kernels/gemm/gemv_bf16_dot_avx.h"
#endif

constexpr int kColumns = ColumnSums::kColumns, kSpread = ColumnSums::kSpread;

// out[c] = the product of x with column c, for kColumns columns `ldb` apart. Both x and `rest`, to which the remainder
// of a column is copied, are padded with zeros to whole lines; the lines of x are kSpread lines apart.
void multiply_columns(const BFloat16* x, const BFloat16* b, int64_t ldb, int64_t k, BFloat16* rest, float* out) {
  const int64_t block = routines::contract_block(k);
  std::fill_n(out, kColumns, 0.0f);
  for (int64_t begin = 0; begin < k; begin += block) {
    const int64_t end = std::min(k, begin + block);
    ColumnSums sums;
    int64_t l = begin;
    for (; l + kLine <= end; l += kLine)
      sums.add(x + l * kSpread, b + l, ldb);
    if (l < end) {
      for (int c = 0; c < kColumns; ++c)
        std::copy_n(b + c * ldb + l, end - l, rest + c * kLine);
      sums.add(x + l * kSpread, rest, kLine);
    }
    sums.add_to(out);
  }
}

// sums[j] += the products of 2 kPairs elements of x with column j of the same number of rows. Prefetches the elements
// `ahead` further on in each row.
template <int kPairs>
void add_rows(int64_t n, const BFloat16* x, const BFloat16* const (&rows)[2 * kPairs], int64_t ahead, float* sums) {
  constexpr int kWidth = RowSums::kWidth, kSoon = 3 * kLine;
  const Factors<kPairs> factors(x);
  auto add = [&](const BFloat16* const(&from)[2 * kPairs], int64_t j, float* to) __attribute__((always_inline)) {
    RowSums here(to);
    auto pair = [&]<int p>()
                    __attribute__((always_inline)) { here.add<p>(factors, from[2 * p] + j, from[2 * p + 1] + j); };
    pair.template operator()<0>();
    if constexpr (kPairs == 4)
      pair.template operator()<1>(), pair.template operator()<2>(), pair.template operator()<3>();
    here.store(to);
  };
  int64_t j = 0;
  for (; j + kWidth <= n; j += kWidth) {
    if (j % kLine == 0)
#pragma GCC unroll 8
      for (int r = 0; r < 2 * kPairs; ++r) {
        __builtin_prefetch(rows[r] + j + ahead, 0, 2);
        __builtin_prefetch(rows[r] + j + kSoon);
      }
    add(rows, j, sums + j);
  }
  if (j == n) return;
  BFloat16 ends[2 * kPairs][kWidth] = {};
  const BFloat16* from[2 * kPairs];
  float to[kWidth] = {};
  for (int r = 0; r < 2 * kPairs; ++r)
    std::copy_n(rows[r] + j, n - j, ends[r]), from[r] = ends[r];
  std::copy_n(sums + j, n - j, to);
  add(from, 0, to);
  std::copy_n(to, n - j, sums + j);
}

#include "kernels/simd/bf16_dot_end.h"

// x padded with zeros to whole lines.
BFloat16* filled_row(const MatrixView<BFloat16>& a, int64_t k) {
  BFloat16* to = scratch<BFloat16>(0, round_up(k, kLine));
  if (a.k == 1)
    std::copy_n(a.data, k, to);
  else
    for (int64_t l = 0; l < k; ++l)
      to[l] = *a.at(0, l);
  std::fill(to + k, to + round_up(k, kLine), BFloat16{});
  return to;
}

void by_columns(const BFloat16* x, const MatrixView<BFloat16>& b, float* c, int64_t n, int64_t k) {
  if constexpr (kSpread > 1) {
    BFloat16* lines = scratch<BFloat16>(1, round_up(k, kLine) * kSpread);
    for (int64_t l = 0; l < k; l += kLine)
      std::copy_n(x + l, kLine, lines + l * kSpread);
    x = lines;
  }
  for_streams(n, kColumns, k * int64_t(sizeof(BFloat16)), kRowTaskFlops / (2 * k + 1), [&] {
    BFloat16* rest = scratch<BFloat16>(3, kColumns * kLine);
    std::fill_n(rest, kColumns * kLine, BFloat16{});
    BFloat16* copy = b.k == 1 ? nullptr : scratch<BFloat16>(4, kColumns * k);
    return [&, rest, copy](int64_t first, int64_t apart) {
      float out[kColumns];
      const BFloat16* from = b.at(first, 0);
      int64_t ldb = apart * b.minor;
      if (copy) {
        for (int64_t r = 0; r < kColumns; ++r)
          for (int64_t l = 0; l < k; ++l)
            copy[r * k + l] = *b.at(first + r * apart, l);
        from = copy, ldb = k;
      }
      multiply_columns(x, from, ldb, k, rest, out);  // apart == 0: the same column each time
      for (int64_t r = 0; r < (apart > 0 ? kColumns : 1); ++r)
        c[first + r * apart] = out[r];
    };
  });
}

void by_rows(const BFloat16* x, const MatrixView<BFloat16>& b, float* c, int64_t n, int64_t k) {
  // Reorders each line of x by chains: the pairs of each chain are consecutive.
  BFloat16* by_chain = scratch<BFloat16>(1, round_up(k, kLine));
  for (int64_t l = 0; l < k; l += kLine)
    for (int c = 0; c < kChains; ++c)
      for (int t = 0; t < kRounds; ++t)
        std::memcpy(by_chain + l + (c * kRounds + t) * 2, x + l + (t * kChains + c) * 2, 2 * sizeof(BFloat16));
  BlockSums<float> sums(1, n, k, kChains);
  BFloat16* none = k % 2 ? scratch<BFloat16>(4, n) : nullptr;  // a row of zeros to pair with the last k if k is odd
  if (none) std::fill_n(none, n, BFloat16{});
  sums.run(c, [&](int64_t j, int64_t columns, int64_t begin, int64_t end, float* to, int64_t width, bool) {
    int64_t l = begin;
    for (; l + kLine <= end; l += kLine)
      for (int chain = 0; chain < kChains; ++chain) {
        const BFloat16* rows[2 * kRounds];
        for (int r = 0; r < 2 * kRounds; ++r)
          rows[r] = b.at(j, l + r / 2 * 2 * kChains + 2 * chain + r % 2);
        const int64_t next = chain + 1 < kChains ? 2 : l + 2 * kLine <= end ? kLine - 2 * chain : 0;
        add_rows<kRounds>(columns, by_chain + l + chain * 2 * kRounds, rows, next * b.k, to + chain * width);
      }
    for (int64_t chain = 0; l < end; l += 2, chain = (chain + 1) % kChains) {
      const BFloat16* const rows[] = {b.at(j, l), l + 1 < end ? b.at(j, l + 1) : none};
      add_rows<1>(columns, x + l, rows, 0, to + chain * width);
    }
    IVDEP
    for (int64_t e = 0; e < columns; ++e)
      to[e] = routines::sum_of_chains(to + e, width);
  });
}

}  // namespace

void gemv_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t n, int64_t k) {
  const BFloat16* x = filled_row(a, k);
  if (b.minor == 1 && b.k != 1 && n > 1)
    by_rows(x, b, c, n, k);
  else
    by_columns(x, b, c, n, k);
}
#else
void gemv_bf16_dot(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t) {
  INVARIANT(false, "no instructions for bf16");
}
#endif

}  // namespace sheaf::kernels

// Few rows, with contiguous columns of B (weights stored as [N, K]). For one row the chains are adjacent in memory, so
// columns are loaded directly. Up to eight rows of floats are the lanes of vectors. Otherwise blocks of columns are
// transposed in registers after loading, so that a vector holds one k of several columns.
#include <array>
#include <cstring>
#include <numeric>

#include "kernels/gemm/few_rows.h"
#include "kernels/simd/simd.h"
#include "routines/gemm/args.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kFarBytes = 4096;
constexpr int64_t kMaxColumns = 16, kMaxRows = 8, kRows = 4;  // at a time; kRows if columns are transposed
constexpr int64_t kNearBytes = 256 << 10;
constexpr int kFewColumns = 4;

enum class Order {
  Apart,    // prefetches the same k of the columns at `next`
  InOrder,  // prefetches the next lines in memory order: faster if these are the next columns and the caches hold them
            // until they are used
};
template <class S>
using Block = void (*)(const float* x, int64_t ldx, const S* b, int64_t ldb, int64_t depth, const S* next,
                       float* total);
template <class S>
using Forms = std::array<Block<S>, 3>;  // for 1, 2 and 4 rows
// The remainder of some columns, padded with zeros.
template <class S>
struct Rest {
  static constexpr int64_t kSize = kMaxColumns * 64 / sizeof(S);  // less than a line of each
  S* memory = scratch<S>(3, kSize);
  int64_t held = kSize;
  void hold(int64_t length) {
    if (length < held) std::fill(memory, memory + kSize, S{});
    held = length;
  }
};
template <class S>
struct OneRow {
  void (*multiply)(const float* x, const S* b, int64_t ldb, int64_t k, Rest<S>& rest, float* out);
  int64_t columns;
};
template <class S>
struct Blocks {
  Forms<S> apart, in_order;
  OneRow<S> few_streams, streams;
};

using FewRows = void (*)(const float* x, const float* b, int64_t ldb, int64_t k, float* out);

template <class T>
struct Kernels {
  int64_t lanes, columns;
  std::array<FewRows, 2> few_rows;  // by the number of vectors minus 1; null if there are none
  Blocks<float> same;
  Blocks<BFloat16> bf16;
  Blocks<Float16> f16;
  const Blocks<float>& of(const float*) const { return same; }
  const Blocks<BFloat16>& of(const BFloat16*) const { return bf16; }
  const Blocks<Float16>& of(const Float16*) const { return f16; }
};

#define SHEAF_KERNELS "kernels/gemm/few_rows_transposed_code.h"
#include "kernels/simd/instruction_sets.h"

// x with each block padded with zeros to whole lines of S.
template <class S>
const float* filled_row(const MatrixView<float>& x, int64_t k) {
  int64_t block = routines::contract_block(k), filled = round_up(block, 64 / sizeof(S)), blocks = pieces(k, block);
  float* to = scratch<float>(1, blocks * filled);
  std::fill(to, to + blocks * filled, 0.0f);
  for (int64_t b = 0; b < blocks; ++b)
    std::copy_n(x.at(0, b * block), std::min(block, k - b * block), to + b * filled);
  return to;
}

template <class S>
void one_row(const MatrixView<float>& row, const MatrixView<S>& b, float* c, int64_t n, int64_t k) {
  const Blocks<S>& kern = kernels<float>().of(b.data);
  const bool near = n * k * sizeof(S) <= kNearBytes;
  const OneRow<S>& kernel = !near && runtime::host_target().reads_one_stream_best ? kern.few_streams : kern.streams;
  const float* x = filled_row<S>(row, k);
  for_streams(n, kernel.columns, k * int64_t(sizeof(S)), kRowTaskFlops / (2 * k + 1), [&] {
    return [&, rest = Rest<S>()](int64_t first, int64_t apart) mutable {
      float out[kMaxColumns];
      kernel.multiply(x, b.at(first, 0), apart * b.minor, k, rest, out);  // apart == 0: the same column each time
      c[first] = out[0];
      for (int64_t r = 1; r < kernel.columns && apart > 0; ++r)
        c[first + r * apart] = out[r];
    };
  });
}

void few_rows(FewRows multiply, const MatrixView<float>& a, const MatrixView<float>& b, float* c, int64_t m, int64_t n,
              int64_t k) {
  const int64_t height = round_up(m, kernels<float>().lanes);
  float* x = scratch<float>(1, height * k);
  pack(x, a, 0, 0, m, height, k);
  for_streams(n, kFewColumns, k * int64_t(sizeof(float)), kTaskFlops / (2 * m * k + 1), [&] {
    return [&](int64_t first, int64_t apart) {
      float out[kFewColumns * kMaxRows];
      multiply(x, b.at(first, 0), apart * b.minor, k, out);  // apart == 0: the same column each time
      for (int64_t r = 0; r < (apart > 0 ? kFewColumns : 1); ++r)
        for (int64_t i = 0; i < m; ++i)
          c[i * n + first + r * apart] = out[r * height + i];
    };
  });
}

// Calls f(first column, first new column) for groups of `columns` columns, on all threads; the last group overlaps the
// previous one.
void for_columns(int64_t m, int64_t n, int64_t k, int64_t columns, auto&& f) {
  runtime::parallel_for(
      pieces(n, columns),
      [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          f(std::min(p * columns, n - columns), p * columns);
      },
      std::max<int64_t>(1, kTaskFlops / (2 * m * columns * k + 1)));
}

// Vectorizes over columns: one column per lane.
template <class S>
void by_columns(const MatrixView<float>& x, const MatrixView<S>& b, float* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<float>& kern = kernels<float>();
  const int64_t columns = kern.columns, block = routines::contract_block(k);
  // The prefetch distance must not be so large that L1 evicts the lines before their use.
  const bool near = k * sizeof(S) <= kFarBytes, in_order = near && b.minor == k;
  const Forms<S>& blocks = in_order ? kern.of(b.data).in_order : kern.of(b.data).apart;
  for_columns(m, n, k, columns, [&](int64_t from, int64_t j) {
    for (int64_t i = 0, rows; i < m; i += rows) {
      rows = std::min<int64_t>(kRows, m - i);
      float total[kRows * kMaxColumns] = {};
      for (int64_t l = 0; l < k; l += block) {
        const S* next = in_order        ? b.at(from + columns, 0) + l * columns
                        : near          ? b.at(from + columns, l)
                        : l + block < k ? b.at(from, l + block)
                                        : b.at(from + columns, 0);
        blocks[rows > 2 ? 2 : rows - 1](x.at(i, l), x.minor, b.at(from, l), b.minor, std::min(block, k - l), next,
                                        total);
      }
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(c + (i + r) * n + j, total + r * columns + j - from, (from + columns - j) * sizeof(float));
    }
  });
}

}  // namespace

template <class S>
bool gemm_few_rows_transposed(const MatrixView<S>& a, const MatrixView<S>& b, float* c, int64_t m, int64_t n,
                              int64_t k) {
  if constexpr (std::is_same_v<S, float>) {
    const Kernels<float>& kern = kernels<float>();
    if (FewRows multiply = m > 1 && m <= kMaxRows ? kern.few_rows[(m - 1) / kern.lanes] : nullptr)
      return few_rows(multiply, a, b, c, m, n, k), true;
  }
  if (m > 1 && n < kernels<float>().columns) return false;
  // Three rows are computed as four.
  MatrixView<float> x = contiguous_rows<float>(a, m, k, m % kRows == 3 ? 1 : 0);
  if (m == 1)
    one_row(x, b, c, n, k);
  else
    by_columns(x, b, c, m, n, k);
  return true;
}

template bool gemm_few_rows_transposed(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t,
                                       int64_t);
template bool gemm_few_rows_transposed(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t,
                                       int64_t, int64_t);
template bool gemm_few_rows_transposed(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t,
                                       int64_t);

}  // namespace sheaf::kernels

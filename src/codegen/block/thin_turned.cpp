// Columns of B are contiguous (weights kept as [N, K]): blocks of them are transposed in registers on their way, so that a vector holds
// neighbouring columns, each with its chain over k.
#include <array>
#include <cstring>

#include "codegen/block/simd.h"
#include "codegen/block/thin.h"
#include "loop/library.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {
namespace {

constexpr int64_t kFarBytes = 4096;
constexpr int64_t kMaxColumns = 16;      // at a time
constexpr int64_t kTaskFlops = 1 << 18;  // a task worth a thread: some 5 us

template <class S>
struct Blocks {
  using Block = void (*)(const float* x, int64_t ldx, const S* b, int64_t ldb, int64_t depth, const S* next, float* total);
  std::array<Block, 3> in_order, apart;  // for 1, 2 and 4 rows
};

template <class T>
struct Kernels {
  int64_t columns;
  Blocks<float> same;
  Blocks<BFloat16> bf16;
  Blocks<Float16> f16;
  const Blocks<float>& of(const float*) const { return same; }
  const Blocks<BFloat16>& of(const BFloat16*) const { return bf16; }
  const Blocks<Float16>& of(const Float16*) const { return f16; }
};

#define SHEAF_KERNELS "codegen/block/thin_turned_kernels.h"
#include "codegen/block/instruction_sets.h"

}  // namespace

template <class S>
bool thin_turned(const Operand<S>& a, const Operand<S>& b, float* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<float>& kern = kernels<float>();
  const int64_t columns = kern.columns, block = loop::contract_block(k);
  if (n < columns) return false;
  Operand<float> x = contiguous_rows<float>(a, m, k);
  // What is asked for must not be so far ahead that the first-level cache loses it again.
  const bool near = k * sizeof(S) <= kFarBytes, in_order = near && b.minor == k;
  const auto& blocks = in_order ? kern.of(b.data).in_order : kern.of(b.data).apart;
  runtime::parallel_for(pieces(n, columns), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      // The last block overlaps the one before it.
      int64_t j = p * columns, from = std::min(j, n - columns);
      row_groups(m, 2, [&](int64_t i, int form) {
        float total[4 * kMaxColumns] = {};
        for (int64_t l = 0; l < k; l += block) {
          const S* next = in_order ? b.at(from + columns, 0) + l * columns : near ? b.at(from + columns, l) : l + block < k ? b.at(from, l + block) : b.at(from + columns, 0);
          blocks[form](x.at(i, l), x.minor, b.at(from, l), b.minor, std::min(block, k - l), next, total);
        }
        for (int64_t r = 0; r < 1 << form; ++r) std::memcpy(c + (i + r) * n + j, total + r * columns + j - from, (from + columns - j) * sizeof(float));
      });
    }
  }, std::max<int64_t>(1, kTaskFlops / (2 * m * columns * k + 1)));
  return true;
}

template bool thin_turned(const Operand<float>&, const Operand<float>&, float*, int64_t, int64_t, int64_t);
template bool thin_turned(const Operand<BFloat16>&, const Operand<BFloat16>&, float*, int64_t, int64_t, int64_t);
template bool thin_turned(const Operand<Float16>&, const Operand<Float16>&, float*, int64_t, int64_t, int64_t);

}  // namespace sheaf::codegen::block

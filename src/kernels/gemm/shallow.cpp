// Few k: writes more than it reads. All of B is packed and stays in the L2 of each core; tasks are blocks of rows, and
// adjacent tiles complete the lines of C that they write. Strips of columns would write partial lines, for which memory
// bandwidth is lower.
#include <algorithm>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/bf16_dot.h"
#include "kernels/gemm/panels.h"
#include "routines/gemm/args.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kBlockRows = 128;  // of packed A at most

template <class T, class S, class K>
void multiply(const K& kern, const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
              const Fusion& fusion) {
  using P = typename K::Packed;
  const int64_t depth = held<K>(k), panels = pieces(n, kern.columns);
  P* packed_b = scratch<P>(0, round_up(n, kern.columns) * depth);
  runtime::parallel_for(
      panels,
      [&](int64_t begin, int64_t end) {
        int64_t j = begin * kern.columns;
        pack_columns(kern, packed_b + j * depth, b, j, 0, std::min(n, end * kern.columns) - j, k);
      },
      std::max<int64_t>(1, 16384 / (kern.columns * k)));
  constexpr int64_t kTasks = 8;  // for each thread, so that threads end at about the same time
  const int64_t rows =
      std::min(kBlockRows / kern.rows * kern.rows, round_up(pieces(m, kTasks * runtime::num_threads()), kern.rows));
  runtime::parallel_for(
      pieces(m, rows),
      [&](int64_t begin, int64_t end) {
        P* packed_a = scratch<P>(1, rows * depth);
        for (int64_t i = begin * rows, last = std::min(m, end * rows), here; i < last; i += here) {
          here = std::min(rows, last - i);
          pack_rows(kern, packed_a, with_rows(a, fusion, i, here), i, 0, here, k);
          for (int64_t r = 0; r < here; r += kern.rows) {
            const int64_t height = std::min(kern.rows, here - r), whole = height == kern.rows ? n / kern.columns : 0;
            T* to = c + (i + r) * n;
            const P* x = packed_a + r * depth;
            Prefetch nothing{reinterpret_cast<const std::byte*>(packed_b), 0, 0, 0, 0};
            kern.tiles_across(whole, depth, x, packed_b, to, n, true, nothing);
            for (int64_t j = whole * kern.columns; j < n; j += kern.columns)
              multiply_panel(kern, x, packed_b + j * depth, to + j, n, height, std::min(kern.columns, n - j), k, true,
                             nothing);
            if (fusion.epilogue) (*fusion.epilogue)({i + r, height, 0, n});
          }
        }
      },
      std::max<int64_t>(1, kTaskFlops / (2 * rows * n * k)));
}

}  // namespace

template <class T, class S>
void gemm_shallow(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
                  const Fusion& fusion) {
  multiply<T>(gemm_kernels<T>(), a, b, c, m, n, k, fusion);
}

void gemm_shallow_bf16_dot(const MatrixView<BFloat16>& a, const MatrixView<BFloat16>& b, float* c, int64_t m, int64_t n,
                           int64_t k, const Fusion& fusion) {
  multiply<float>(bf16_dot_kernels(), a, b, c, m, n, k, fusion);
}

template void gemm_shallow(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t,
                           const Fusion&);
template void gemm_shallow(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t,
                           const Fusion&);
template void gemm_shallow(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t, int64_t,
                           const Fusion&);
template void gemm_shallow(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t, int64_t,
                           const Fusion&);

}  // namespace sheaf::kernels

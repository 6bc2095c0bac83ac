// Few rows, B with any strides: packs one panel of B at a time, which stays in L1.
#include <algorithm>

#include "kernels/gemm/few_rows.h"
#include "kernels/gemm/panels.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

using routines::kContractBlock;

template <class T, class S>
void gemm_few_rows_packed(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const GemmKernels<T>& kern = gemm_kernels<T>();
  int64_t nr = kern.columns, panels = pieces(n, nr), block = routines::contract_block(k);
  int64_t mr = kern.height(m);
  auto tile = kern.tiles[kern.form(m)][nr / kern.lanes - 1];
  int64_t groups = pieces(m, mr);
  Prefetch nothing{reinterpret_cast<const std::byte*>(a.data), 0, 0, 0, 0};
  T* packed_a = scratch<T>(0, groups * mr * k);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t l0 = 0; l0 < k; l0 += block)
      pack_panel(kern, packed_a + g * mr * k + l0 * mr, a, g * mr, l0, std::min(mr, m - g * mr), mr,
                 std::min(block, k - l0));
  runtime::parallel_for(
      panels,
      [&](int64_t begin, int64_t end) {
        T* packed_b = scratch<T>(1, kContractBlock * nr);
        for (int64_t p = begin; p < end; ++p)
          for (int64_t l0 = 0; l0 < k; l0 += block) {
            int64_t depth = std::min(block, k - l0), columns = std::min(nr, n - p * nr);
            if (m == 1) {
              T sums[routines::kRowChains * kMaxTileColumns] = {}, x[kContractBlock], *to = c + p * nr;
              for (int64_t chain = 0; chain < std::min(routines::kRowChains, depth); ++chain) {
                int64_t length = pieces(depth - chain, routines::kRowChains);
                for (int64_t t = 0; t < length; ++t)
                  x[t] = packed_a[l0 + chain + t * routines::kRowChains];
                pack(packed_b, MatrixView<S>{b.at(0, l0 + chain), b.minor, routines::kRowChains * b.k}, p * nr, 0,
                     columns, nr, length);
                tile(1, length, x, packed_b, sums + chain * nr, nr, true, nothing);
              }
              for (int64_t e = 0; e < columns; ++e)
                to[e] = (l0 == 0 ? T(0) : to[e]) + routines::sum_of_chains(sums + e, nr);
              continue;
            }
            pack_panel(kern, packed_b, b, p * nr, l0, columns, nr, depth);
            for (int64_t g = 0; g < groups; ++g) {
              int64_t rows = std::min(mr, m - g * mr);
              T* to = c + g * mr * n + p * nr;
              const T* pa = packed_a + g * mr * k + l0 * mr;
              if (rows == mr && columns == nr)
                tile(1, depth, pa, packed_b, to, n, l0 == 0, nothing);
              else
                at_edge(to, n, rows, columns, l0 == 0,
                        [&](T* t, int64_t ld) { tile(1, depth, pa, packed_b, t, ld, l0 == 0, nothing); });
            }
          }
      },
      std::max<int64_t>(1, kTaskFlops / (8 * nr * k + 1)));
}

template void gemm_few_rows_packed(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t,
                                   int64_t);
template void gemm_few_rows_packed(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t,
                                   int64_t);
template void gemm_few_rows_packed(const MatrixView<BFloat16>&, const MatrixView<BFloat16>&, float*, int64_t, int64_t,
                                   int64_t);
template void gemm_few_rows_packed(const MatrixView<Float16>&, const MatrixView<Float16>&, float*, int64_t, int64_t,
                                   int64_t);

}  // namespace sheaf::kernels

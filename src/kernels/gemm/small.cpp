// B stays in the core's caches: tiles read A in place, and B or a packed copy. The remainder at an edge is computed by
// a tile that overlaps the previous one: recomputing some elements (with equal bits) takes less time than a tile in
// scratch memory and a copy.
#include <algorithm>
#include <atomic>
#include <utility>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/panels.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {

template <class T>
void gemm_small(const MatrixView<T>& a, const MatrixView<T>& b, T* c, int64_t m, int64_t n, int64_t k,
                const Fusion& fusion) {
  const GemmKernels<T>& kern = gemm_kernels<T>();
  // Loads of wide vectors that cross cache lines take twice as long, and longer from farther caches: then B is packed
  // if there are many rows.
  constexpr int64_t kNear = 6144, kFewRows = 32;
  const bool across = kern.lanes * sizeof(T) > 16 && kern.padded(n) != n,
             in_place = b.minor == 1 && (!across || n * k <= kNear || m < kFewRows);
  const int64_t lanes = kern.lanes, wide = kern.small_vectors * lanes, height = kern.small_rows,
                ldb = in_place ? b.k : kern.padded(n);
  // Each thread packs for itself: reading lines that another core has just written takes longer.
  static std::atomic<uint64_t> calls{0};
  const uint64_t call = in_place ? 0 : ++calls;
  auto rows_of_b = [&]() -> const T* {
    if (in_place) return b.data;
    static thread_local uint64_t packed_for = 0;
    T* packed = scratch<T>(4, ldb * k);  // its own slot: a later range of this thread reuses it
    if (std::exchange(packed_for, call) != call) pack_panel(kern, packed, b, 0, 0, n, ldb, k);
    return packed;
  };
  const DirectTiles<T>& tiles = a.k == 1 ? kern.by_row : kern.by_column;
  const int64_t lda = a.k == 1 ? a.minor : a.k;
  // Captured by value: otherwise the compiler must assume that the callees change these sizes.
  runtime::parallel_for(
      pieces(m, height),
      [=, &kern, &tiles, &a, &fusion, &rows_of_b](int64_t begin, int64_t end) {
        constexpr int64_t kPart =
            (64 << 10) / sizeof(T);  // elements of A for a prologue and of C for an epilogue at a time, about
        int64_t last = std::min(m, end * height), told = begin * height, made = told;
        const T* pb = rows_of_b();
        MatrixView<T> near = a;
        for (int64_t i = begin * height; i < last;) {
          if (last - i == 3 && i > told && i != made) --i;
          int64_t rows = kern.direct_height(last - i);
          const auto& tile = tiles[kern.direct_form(rows)];
          if (fusion.prologue && i == made) {
            made = std::min(last, i + std::max<int64_t>(1, kPart / (height * k)) * height);
            near = with_rows(a, fusion, i, made - i);
          }
          const T* pa = near.at(i, 0);
          T* to = c + i * n;
          auto at = [&](int64_t j, bool several) { tile[several](k, pa, lda, pb + j, ldb, to + j, n, true); };
          int64_t j = 0;
          for (; j + wide <= n; j += wide)
            at(j, true);
          if (n >= wide && n - j > lanes)
            at(n - wide, true);
          else if (j < n) {
            for (; j + lanes <= n; j += lanes)
              at(j, false);
            if (j < n) at(n - lanes, false);
          }
          i += rows;
          if (fusion.epilogue && ((i - told) * n >= kPart || i == last))
            (*fusion.epilogue)({told, i - told, 0, n}), told = i;
        }
      },
      std::max<int64_t>(1, kTaskFlops / (2 * height * n * k + 1)));
}

template void gemm_small(const MatrixView<float>&, const MatrixView<float>&, float*, int64_t, int64_t, int64_t,
                         const Fusion&);
template void gemm_small(const MatrixView<double>&, const MatrixView<double>&, double*, int64_t, int64_t, int64_t,
                         const Fusion&);

}  // namespace sheaf::kernels

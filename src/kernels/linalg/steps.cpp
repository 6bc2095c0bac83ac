#include "kernels/linalg/steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/panels.h"
#include "kernels/simd/simd.h"

namespace sheaf::kernels {
namespace {

using routines::kDotSums;
using routines::kProductBlock;
using routines::kSmall;
using routines::kSymmetricRows;
using routines::kSymmetricSums;
using routines::Part;
using routines::Product;
using routines::Triangle;

template <class T>
struct Kernels {
  void (*product_in_place)(const Product<T>& p, T sign, bool upper);
  void (*dots)(const T* x, int64_t ldx, int64_t rows, const T* y, int64_t n, T* out);
  void (*symmetric_rows)(const T* a, int64_t ld, int64_t n, int64_t begin, int64_t end, const T* x, T* y);
  void (*divide)(T* x, int64_t n, T by);
  void (*negate)(T* x, int64_t n);
  void (*add_zero)(T* x, int64_t n);
  void (*transpose)(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step);
  void (*solve_small)(const Triangle<T>& t, int64_t n, T* x, int64_t ldx, int64_t columns);
  bool (*cholesky_small)(T* a, int64_t ld, int64_t n);
  void (*lu_small)(T* p, int64_t ld, int64_t m, int64_t from, int64_t to, int64_t width, int64_t* exchanges);
};

using Floats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

#define SHEAF_KERNELS "kernels/linalg/steps_code.h"
#include "kernels/simd/instruction_sets.h"

// Both operands are packed for the GEMM's tiles, which add to c.
template <class T>
void product_packed(const Product<T>& p, T sign, bool upper) {
  constexpr int64_t kGroupBytes = 192 << 10;  // of packed rows of a: with a panel of b they stay near the core
  constexpr int64_t kStripPanels = 8;
  const GemmKernels<T>& kern = gemm_kernels<T>();
  const MatrixView<T> a{p.a, p.a_row, p.a_column}, b{p.b, 1, p.ldb};
  const int64_t deepest = std::min(p.k, kProductBlock);
  const int64_t group = std::max<int64_t>(1, kGroupBytes / (deepest * kern.rows * int64_t(sizeof(T)))) * kern.rows;
  const int64_t strip = kStripPanels * kern.columns, groups = pieces(p.m, group), strips = pieces(p.n, strip);
  T *packed_a = scratch<T>(0, round_up(p.m, kern.rows) * deepest),
    *packed_b = scratch<T>(1, round_up(p.n, kern.columns) * deepest);
  for (int64_t l = 0; l < p.k; l += kProductBlock) {
    const int64_t k = std::min(kProductBlock, p.k - l);
    runtime::parallel_for(
        groups + strips,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task)
            if (task < groups) {
              const int64_t i = task * group, rows = std::min(group, p.m - i);
              pack_rows(kern, packed_a + i * k, a, i, l, rows, k);
              if (sign < 0) kernels<T>().negate(packed_a + i * k, round_up(rows, kern.rows) * k);
            } else {
              const int64_t j = (task - groups) * strip;
              pack_columns(kern, packed_b + j * k, b, j, l, std::min(strip, p.n - j), k);
            }
        },
        1);
    runtime::parallel_for(
        groups * strips,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t i = task / strips * group, rows = std::min(group, p.m - i), from = task % strips * strip;
            for (int64_t j = from; j < std::min(p.n, from + strip); j += kern.columns) {
              const int64_t columns = std::min(kern.columns, p.n - j);
              const int64_t above = upper ? std::min(rows, round_up(j + columns - i, kern.rows)) : rows;
              if (above <= 0) continue;
              Prefetch none{reinterpret_cast<const std::byte*>(packed_b), 0, 0, 0, 1};
              multiply_panel(kern, packed_a + i * k, packed_b + j * k, p.c + i * p.ldc + j, p.ldc, above, columns, k,
                             false, none);
              for (int64_t row = i; row < std::min(p.m, i + above); ++row)
                kernels<T>().add_zero(p.c + row * p.ldc + j, columns);
            }
          }
        },
        1);
  }
}

// Operands where they are; columns are shared out to threads.
template <class T>
void product_small(const Product<T>& p, T sign, bool upper) {
  const auto run = kernels<T>().product_in_place;
  const int64_t flops = 2 * p.m * p.k;
  if (upper || flops * p.n < 2 * kTaskFlops) return run(p, sign, upper);
  constexpr int64_t kStrip = 64;
  runtime::parallel_for(
      pieces(p.n, kStrip),
      [&](int64_t begin, int64_t end) {
        Product<T> part = p;
        part.b += begin * kStrip, part.c += begin * kStrip;
        part.n = std::min(p.n, end * kStrip) - begin * kStrip;
        run(part, sign, false);
      },
      pieces(kTaskFlops, flops * kStrip));
}

}  // namespace

template <class T>
void Fast::add_product(const Product<T>& p, T sign, Part part) {
  // From here on packing pays (bench linalg): so many operations, and rows enough to use what is packed again.
  constexpr int64_t kPackedWork = 64 * 64 * 32, kPackedRows = 16, kPackedDepth = 16;
  const bool upper = part == Part::Upper;
  const bool packs = p.m >= kPackedRows && p.k >= kPackedDepth && p.n >= kPackedRows && p.m * p.n * p.k >= kPackedWork;
  if (packs) return product_packed(p, sign, upper);
  Product<T> block = p;
  for (int64_t l = 0; l < p.k; l += kProductBlock) {
    block.a = p.a + l * p.a_column, block.b = p.b + l * p.ldb, block.k = std::min(kProductBlock, p.k - l);
    product_small(block, sign, upper);
  }
}
template <class T>
void Fast::transpose(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step) {
  constexpr int64_t kStrip = 64;
  runtime::parallel_for(
      pieces(rows, kStrip),
      [&](int64_t begin, int64_t end) {
        const int64_t first = begin * kStrip, count = std::min(rows, end * kStrip) - first;
        kernels<T>().transpose(from + first * from_step, from_step, count, columns, to + first, to_step);
      },
      1 + (1 << 15) / (kStrip * columns + 1));
}
template <class T>
void Fast::dots(const T* x, int64_t ldx, int64_t rows, const T* y, int64_t n, T* out) {
  kernels<T>().dots(x, ldx, rows, y, n, out);
}
template <class T>
void Fast::symmetric_rows(const T* a, int64_t ld, int64_t n, int64_t begin, int64_t end, const T* x, T* y) {
  kernels<T>().symmetric_rows(a, ld, n, begin, end, x, y);
}
template <class T>
void Fast::divide(T* x, int64_t n, T by) {
  kernels<T>().divide(x, n, by);
}
template <class T>
void Fast::solve_small(const Triangle<T>& t, int64_t n, T* x, int64_t ldx, int64_t columns) {
  kernels<T>().solve_small(t, n, x, ldx, columns);
}
template <class T>
bool Fast::cholesky_small(T* a, int64_t ld, int64_t n) {
  return kernels<T>().cholesky_small(a, ld, n);
}
template <class T>
void Fast::lu_small(T* p, int64_t ld, int64_t m, int64_t from, int64_t to, int64_t width, int64_t* exchanges) {
  kernels<T>().lu_small(p, ld, m, from, to, width, exchanges);
}

#define SHEAF_STEPS(T)                                                                            \
  template void Fast::add_product(const Product<T>&, T, Part);                                    \
  template void Fast::dots(const T*, int64_t, int64_t, const T*, int64_t, T*);                    \
  template void Fast::symmetric_rows(const T*, int64_t, int64_t, int64_t, int64_t, const T*, T*); \
  template void Fast::divide(T*, int64_t, T);                                                     \
  template void Fast::transpose(const T*, int64_t, int64_t, int64_t, T*, int64_t);                \
  template void Fast::solve_small(const Triangle<T>&, int64_t, T*, int64_t, int64_t);             \
  template bool Fast::cholesky_small(T*, int64_t, int64_t);                                       \
  template void Fast::lu_small(T*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t*);
SHEAF_STEPS(float)
SHEAF_STEPS(double)
#undef SHEAF_STEPS

}  // namespace sheaf::kernels

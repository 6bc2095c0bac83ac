// The contraction, fast: C[M,N] = A[M,K] B[K,N], with the bits of loop/library.cpp's definition.
//
// Forms, by shape:
// - tall: blocks of B (kContractBlock x kBlockN) are packed by all threads, then tiles of C are computed block by block of
//   rows, each task packing its own block of A. Transposed operands only change how packing reads.
// - thin, at most kThinRows rows: nothing is reused, so B streams through once; where its rows or columns are contiguous
//   without packing, otherwise panel by panel through a buffer in the first-level cache.
// - small: tiles straight from memory.
// - integers: rows of B times elements of A, any order.
// N = 1 is the thin form of the transposed product.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "codegen/block/attention.h"
#include "codegen/block/block.h"
#include "codegen/block/simd.h"
#include "codegen/block/step.h"
#include "loop/scalar_ops.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen {
namespace block {
namespace {

using loop::kContractBlock;
using loop::scalar::BFloat16;
using loop::scalar::Float16;

constexpr int64_t kBlockM = 128, kBlockN = 384, kThinRows = 8;
constexpr int64_t kMaxRows = 14, kMaxColumns = 32;  // of a packed tile
constexpr int64_t kSmall = 2048;                    // elements of B that stay in the first-level cache with room to spare
constexpr int64_t kTaskFlops = 1 << 18;             // a task worth a thread: some 5 us

template <class T>
struct Kernels {
  using Packed = void (*)(int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool first);
  using Direct = void (*)(int64_t k, const T* a, int64_t sam, int64_t sak, const T* b, int64_t sbk, T* c, int64_t ldc, bool first);
  using Stream = void (*)(int64_t m, int64_t n, const T* a, int64_t sam, int64_t sak, const T* b, int64_t sbk, T* sums, int64_t ld);
  int64_t rows, columns, lanes;
  Packed tile, tile4, tile1;              // `rows`, 4 and 1 rows
  Direct wide1, wide2, wide4;             // 1, 2, 4 rows, four vectors of columns
  Direct narrow1, narrow2, narrow4;       // one vector
  Stream stream4, stream1;                // four and one k at a time
};

#define SHEAF_KERNELS "codegen/block/gemm_kernels.h"
#include "codegen/block/instruction_sets.h"

// One matrix of the batch. S is what memory holds, T what is computed in.
template <class S>
struct Operand {
  const S* data;
  int64_t minor, k;  // strides: along the row of A or column of B, and along k
  const S* at(int64_t i, int64_t l) const { return data + i * minor + l * k; }
};

template <class T, class S>
inline T widen(S x) { return loop::scalar::convert<T>(x); }

using Float4 = float __attribute__((vector_size(16)));
inline Float4 load4(const float* p) {
  Float4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// to[c][r] = from[r][c] for four rows and columns.
inline void transpose4(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Float4 a = load4(from), b = load4(from + from_stride), c = load4(from + 2 * from_stride), d = load4(from + 3 * from_stride);
  Float4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  Float4 ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  Float4 rows[4] = {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
                    __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7)};
  for (int r = 0; r < 4; ++r) std::memcpy(to + r * to_stride, &rows[r], sizeof rows[r]);
}

// dst[l][i] = src(i, l) for i < width (of which `used` exist, the rest zero) and l < k.
template <class T, class S>
void pack(T* dst, const Operand<S>& src, int64_t i0, int64_t l0, int64_t used, int64_t width, int64_t k) {
  const S* from = src.at(i0, l0);
  if (used < width) {
    for (int64_t l = 0; l < k; ++l)
      for (int64_t i = 0; i < width; ++i) dst[l * width + i] = i < used ? widen<T>(from[i * src.minor + l * src.k]) : T(0);
    return;
  }
  if (src.minor == 1) {
    auto rows = [&](auto w) {
      for (int64_t l = 0; l < k; ++l)
        for (int64_t i = 0; i < w; ++i) dst[l * w + i] = widen<T>(from[l * src.k + i]);
    };
    // A constant width becomes a few vector moves.
    if (width == 12) rows(std::integral_constant<int64_t, 12>{});
    else if (width == 8) rows(std::integral_constant<int64_t, 8>{});
    else if (width == 6) rows(std::integral_constant<int64_t, 6>{});
    else if (width == 14) rows(std::integral_constant<int64_t, 14>{});
    else if (width == 16) rows(std::integral_constant<int64_t, 16>{});
    else if (width == 32) rows(std::integral_constant<int64_t, 32>{});
    else rows(width);
    return;
  }
  int64_t l = 0;
  // 4 x 4 blocks turned in registers, where k is contiguous.
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>)
    if (src.k == 1) {
      int64_t whole = width / 4 * 4;
      for (; l + 4 <= k; l += 4) {
        for (int64_t i = 0; i < whole; i += 4) transpose4(from + i * src.minor + l, src.minor, dst + l * width + i, width);
        for (int64_t i = whole; i < width; ++i)
          for (int64_t m = l; m < l + 4; ++m) dst[m * width + i] = from[i * src.minor + m];
      }
    }
  // A few k at a time, so that each row's cache line is read once.
  for (; l < k; l += 16) {
    int64_t end = std::min(k, l + 16);
    for (int64_t i = 0; i < width; ++i)
      for (int64_t m = l; m < end; ++m) dst[m * width + i] = widen<T>(from[i * src.minor + m * src.k]);
  }
}

// Memory of a thread for packed blocks; `slot` tells apart what is in use at the same time.
template <class T>
T* scratch(int slot, size_t elements) {
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0;
  };
  static thread_local Memory memory[3];
  Memory& m = memory[slot];
  size_t needed = elements * sizeof(T) + 64;
  if (m.size < needed) {
    m.bytes.reset(new std::byte[needed]);
    m.size = needed;
  }
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(m.bytes.get()) + 63) / 64 * 64);
}

// A tile at the edge is computed whole beside C and its part copied.
template <class T, class F>
inline void at_edge(T* c, int64_t ldc, int64_t rows, int64_t columns, bool first, F&& tile) {
  T whole[kMaxRows * kMaxColumns];
  if (!first)
    for (int64_t i = 0; i < rows; ++i) std::memcpy(whole + i * kMaxColumns, c + i * ldc, columns * sizeof(T));
  tile(whole, kMaxColumns);
  for (int64_t i = 0; i < rows; ++i) std::memcpy(c + i * ldc, whole + i * kMaxColumns, columns * sizeof(T));
}

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

template <class T, class S>
void tall(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  int64_t mr = kern.rows, nr = kern.columns;
  int64_t block_m = round_up(std::min(kBlockM, m), mr), block_n = std::min(round_up(n, nr), kBlockN / nr * nr);
  T* packed_b = scratch<T>(0, kContractBlock * block_n);
  for (int64_t j0 = 0; j0 < n; j0 += block_n) {
    int64_t columns = std::min(block_n, n - j0), panels = (columns + nr - 1) / nr;
    for (int64_t l0 = 0; l0 < k; l0 += kContractBlock) {
      int64_t depth = std::min(kContractBlock, k - l0);
      runtime::parallel_for(panels, [&](int64_t begin, int64_t end) {
        // Where rows are contiguous, a few rows across all panels: each cache line is then read once.
        int64_t part = b.minor == 1 ? 8 : depth;
        for (int64_t l = 0; l < depth; l += part)
          for (int64_t p = begin; p < end; ++p)
            pack(packed_b + (p * depth + l) * nr, b, j0 + p * nr, l0 + l, std::min(nr, columns - p * nr), nr, std::min(part, depth - l));
      }, std::max<int64_t>(1, 16384 / (nr * depth)));
      // Rows are split first; columns too where there are too few blocks of rows for the threads.
      int64_t blocks = (m + block_m - 1) / block_m;
      int64_t wanted = runtime::num_threads() * 2;
      int64_t splits = blocks >= wanted ? 1 : std::clamp<int64_t>((wanted + blocks - 1) / blocks, 1, panels);
      int64_t flops = std::min(block_m, m) * ((panels + splits - 1) / splits) * nr * depth * 2;
      runtime::parallel_for(blocks * splits, [&](int64_t begin, int64_t end) {
        T* packed_a = scratch<T>(1, kContractBlock * block_m);
        int64_t packed = -1;
        for (int64_t task = begin; task < end; ++task) {
          int64_t block = task / splits, split = task % splits;
          int64_t i0 = block * block_m, rows = std::min(block_m, m - i0);
          if (block != packed) {
            for (int64_t i = 0; i < rows; i += mr) pack(packed_a + i * depth, a, i0 + i, l0, std::min(mr, rows - i), mr, depth);
            packed = block;
          }
          int64_t first_panel = panels * split / splits, last_panel = panels * (split + 1) / splits;
          for (int64_t p = first_panel; p < last_panel; ++p)
            for (int64_t i = 0; i < rows; i += mr) {
              int64_t j = j0 + p * nr, tile_rows = std::min(mr, rows - i), tile_columns = std::min(nr, columns - p * nr);
              T* to = c + (i0 + i) * n + j;
              const T* pa = packed_a + i * depth;
              const T* pb = packed_b + p * nr * depth;
              if (tile_rows == mr && tile_columns == nr) kern.tile(depth, pa, pb, to, n, l0 == 0);
              else at_edge(to, n, tile_rows, tile_columns, l0 == 0, [&](T* t, int64_t ld) { kern.tile(depth, pa, pb, t, ld, l0 == 0); });
            }
        }
      }, std::max<int64_t>(1, kTaskFlops / std::max<int64_t>(1, flops)));
    }
  }
}

// Small, rows of B contiguous and of the computed type: tiles straight from memory, on one thread.
template <class T>
void small(const Operand<T>& a, const Operand<T>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  int64_t lanes = kern.lanes;
  for (int64_t l0 = 0; l0 < k; l0 += kContractBlock) {
    int64_t depth = std::min(kContractBlock, k - l0);
    bool first = l0 == 0;
    for (int64_t i = 0; i < m;) {
      int64_t rows = m - i >= 4 ? 4 : m - i >= 2 ? 2 : 1;
      auto wide = rows == 4 ? kern.wide4 : rows == 2 ? kern.wide2 : kern.wide1;
      auto narrow = rows == 4 ? kern.narrow4 : rows == 2 ? kern.narrow2 : kern.narrow1;
      int64_t j = 0;
      for (; j + 4 * lanes <= n; j += 4 * lanes) wide(depth, a.at(i, l0), a.minor, a.k, b.at(j, l0), b.k, c + i * n + j, n, first);
      for (; j + lanes <= n; j += lanes) narrow(depth, a.at(i, l0), a.minor, a.k, b.at(j, l0), b.k, c + i * n + j, n, first);
      for (; j < n; ++j)
        for (int64_t r = i; r < i + rows; ++r) {
          T sum = 0;
          for (int64_t l = l0; l < l0 + depth; ++l) sum = loop::scalar::apply<loop::Op::Fma>(*a.at(r, l), *b.at(j, l), sum);
          c[r * n + j] = (first ? T(0) : c[r * n + j]) + sum;
        }
      i += rows;
    }
  }
}

// Few rows, rows of B contiguous: whole rows of a strip of B stream through, four at a time, past sums in the cache.
template <class T>
void thin_stream(const Operand<T>& a, const Operand<T>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  constexpr int64_t kStrip = 512;
  runtime::parallel_for((n + kStrip - 1) / kStrip, [&](int64_t begin, int64_t end) {
    T* sums = scratch<T>(1, m * kStrip);
    for (int64_t s = begin; s < end; ++s) {
      int64_t j0 = s * kStrip, columns = std::min(kStrip, n - j0), whole = columns / kern.lanes * kern.lanes;
      for (int64_t l0 = 0; l0 < k; l0 += kContractBlock) {
        int64_t depth = std::min(kContractBlock, k - l0), l = 0;
        std::fill(sums, sums + m * kStrip, T(0));
        for (; l + 4 <= depth; l += 4) kern.stream4(m, whole, a.at(0, l0 + l), a.minor, a.k, b.at(j0, l0 + l), b.k, sums, kStrip);
        for (; l < depth; ++l) kern.stream1(m, whole, a.at(0, l0 + l), a.minor, a.k, b.at(j0, l0 + l), b.k, sums, kStrip);
        for (int64_t j = whole; j < columns; ++j)
          for (int64_t i = 0; i < m; ++i)
            for (int64_t e = l0; e < l0 + depth; ++e)
              sums[i * kStrip + j] = loop::scalar::apply<loop::Op::Fma>(*a.at(i, e), *b.at(j0 + j, e), sums[i * kStrip + j]);
        for (int64_t i = 0; i < m; ++i) {
          T* to = c + i * n + j0;
          for (int64_t j = 0; j < columns; ++j) to[j] = (l0 == 0 ? T(0) : to[j]) + sums[i * kStrip + j];
        }
      }
    }
  }, std::max<int64_t>(1, kTaskFlops / (4 * kStrip * k + 1)));
}

#if defined(__aarch64__)
// Few rows, columns of B contiguous (weights kept as [N, K]): 4 x 4 blocks are transposed in registers on their way, so
// that a vector holds four columns, each with its chain over k. Four groups of columns are four distant streams.
template <int kRows>
void transposed_block(const Operand<float>& a, const Operand<float>& b, int64_t j, int64_t l0, int64_t depth, float* c, int64_t n, bool first) {
  constexpr int kGroups = 2;
  float32x4_t acc[kGroups][kRows];
  for (auto& group : acc)
    for (auto& v : group) v = vdupq_n_f32(0);
  int64_t l = 0;
  for (; l + 4 <= depth; l += 4) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const float* p = b.at(j + g * 4, l0 + l);
      float32x4_t r0 = vld1q_f32(p), r1 = vld1q_f32(p + b.minor), r2 = vld1q_f32(p + 2 * b.minor), r3 = vld1q_f32(p + 3 * b.minor);
      float32x4x2_t even = vtrnq_f32(r0, r1), odd = vtrnq_f32(r2, r3);
      float32x4_t y[4] = {vcombine_f32(vget_low_f32(even.val[0]), vget_low_f32(odd.val[0])), vcombine_f32(vget_low_f32(even.val[1]), vget_low_f32(odd.val[1])),
                          vcombine_f32(vget_high_f32(even.val[0]), vget_high_f32(odd.val[0])), vcombine_f32(vget_high_f32(even.val[1]), vget_high_f32(odd.val[1]))};
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
        for (int e = 0; e < 4; ++e) acc[g][i] = vfmaq_n_f32(acc[g][i], y[e], *a.at(i, l0 + l + e));
    }
  }
  for (; l < depth; ++l)
    for (int g = 0; g < kGroups; ++g) {
      float y[4];
      for (int e = 0; e < 4; ++e) y[e] = *b.at(j + g * 4 + e, l0 + l);
      for (int i = 0; i < kRows; ++i) acc[g][i] = vfmaq_n_f32(acc[g][i], vld1q_f32(y), *a.at(i, l0 + l));
    }
  for (int i = 0; i < kRows; ++i)
    for (int g = 0; g < kGroups; ++g) {
      float* to = c + i * n + j + g * 4;
      vst1q_f32(to, vaddq_f32(first ? vdupq_n_f32(0) : vld1q_f32(to), acc[g][i]));
    }
}

void thin_transposed(const Operand<float>& a, const Operand<float>& b, float* c, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kColumns = 8;
  runtime::parallel_for((n + kColumns - 1) / kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t l0 = 0; l0 < k; l0 += kContractBlock) {
        int64_t depth = std::min(kContractBlock, k - l0), j = p * kColumns;
        bool first = l0 == 0;
        if (j + kColumns > n) {
          for (; j < n; ++j)
            for (int64_t i = 0; i < m; ++i) {
              float sum = 0;
              for (int64_t l = l0; l < l0 + depth; ++l) sum = __builtin_fmaf(*a.at(i, l), *b.at(j, l), sum);
              c[i * n + j] = (first ? 0.0f : c[i * n + j]) + sum;
            }
          continue;
        }
        for (int64_t i = 0; i < m;) {
          Operand<float> rows{a.at(i, 0), a.minor, a.k};
          float* to = c + i * n;
          if (m - i >= 4) transposed_block<4>(rows, b, j, l0, depth, to, n, first), i += 4;
          else if (m - i >= 2) transposed_block<2>(rows, b, j, l0, depth, to, n, first), i += 2;
          else transposed_block<1>(rows, b, j, l0, depth, to, n, first), i += 1;
        }
      }
  }, std::max<int64_t>(1, kTaskFlops / (4 * kColumns * k + 1)));
}
#endif

// Few rows, B in any order: panels pass through the first-level cache.
template <class T, class S>
void thin_packed(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Kernels<T>& kern = kernels<T>();
  int64_t nr = kern.columns, panels = (n + nr - 1) / nr;
  int64_t mr = m == 1 ? 1 : m <= 4 ? 4 : kern.rows;
  auto tile = mr == 1 ? kern.tile1 : mr == 4 ? kern.tile4 : kern.tile;
  int64_t groups = (m + mr - 1) / mr;
  T* packed_a = scratch<T>(0, groups * mr * k);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t l0 = 0; l0 < k; l0 += kContractBlock)
      pack(packed_a + g * mr * k + l0 * mr, a, g * mr, l0, std::min(mr, m - g * mr), mr, std::min(kContractBlock, k - l0));
  runtime::parallel_for(panels, [&](int64_t begin, int64_t end) {
    T* packed_b = scratch<T>(1, kContractBlock * nr);
    for (int64_t p = begin; p < end; ++p)
      for (int64_t l0 = 0; l0 < k; l0 += kContractBlock) {
        int64_t depth = std::min(kContractBlock, k - l0), columns = std::min(nr, n - p * nr);
        pack(packed_b, b, p * nr, l0, columns, nr, depth);
        for (int64_t g = 0; g < groups; ++g) {
          int64_t rows = std::min(mr, m - g * mr);
          T* to = c + g * mr * n + p * nr;
          const T* pa = packed_a + g * mr * k + l0 * mr;
          if (rows == mr && columns == nr) tile(depth, pa, packed_b, to, n, l0 == 0);
          else at_edge(to, n, rows, columns, l0 == 0, [&](T* t, int64_t ld) { tile(depth, pa, packed_b, t, ld, l0 == 0); });
        }
      }
  }, std::max<int64_t>(1, kTaskFlops / (8 * nr * k + 1)));
}

template <class T, class S>
void multiply(Operand<S> a, Operand<S> b, T* c, int64_t m, int64_t n, int64_t k) {
  if (n == 1 && m > 1) {
    std::swap(a, b);
    std::swap(m, n);
  }
  if constexpr (std::is_same_v<T, S>)
    if (b.minor == 1 && n * k <= kSmall && m <= 128) return small<T>(a, b, c, m, n, k);
  if (m > kThinRows) return tall<T>(a, b, c, m, n, k);
  if constexpr (std::is_same_v<T, S>)
    if (b.minor == 1) return thin_stream<T>(a, b, c, m, n, k);
#if defined(__aarch64__)
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, float>)
    if (b.k == 1 && m <= 2) return thin_transposed(a, b, c, m, n, k);
#endif
  thin_packed<T>(a, b, c, m, n, k);
}

struct Args {
  int64_t batch, m, n, k, sab, sam, sak, sbb, sbk, sbn;
};

// Calls one(p) for each matrix of the batch: several small ones at a time, or each by all threads.
template <class F>
void for_batch(const Args& g, F&& one) {
  int64_t flops = 2 * g.m * g.n * g.k + 1;
  if (flops > 8 * kTaskFlops || g.batch == 1) {
    for (int64_t p = 0; p < g.batch; ++p) one(p);
  } else {
    runtime::parallel_for(g.batch, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) one(p);
    }, std::max<int64_t>(1, kTaskFlops / flops));
  }
}

template <class S>
void contract_floats(const loop::CallArgs& call, const Args& g) {
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;
  const S* a = reinterpret_cast<const S*>(call.buffers[0]);
  const S* b = reinterpret_cast<const S*>(call.buffers[1]);
  S* c = reinterpret_cast<S*>(call.buffers[2]);
  if (g.k == 0) {
    std::memset(c, 0, g.batch * g.m * g.n * sizeof(S));
    return;
  }
  for_batch(g, [&](int64_t p) {
    Operand<S> x{a + p * g.sab, g.sam, g.sak}, y{b + p * g.sbb, g.sbn, g.sbk};
    S* out = c + p * g.m * g.n;
    if constexpr (std::is_same_v<S, T>) {
      multiply<T>(x, y, out, g.m, g.n, g.k);
    } else {
      T* wide = scratch<T>(2, g.m * g.n);
      multiply<T>(x, y, wide, g.m, g.n, g.k);
      runtime::parallel_for(g.m * g.n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = loop::scalar::convert<S>(wide[i]);
      }, 1 << 16);
    }
  });
}

template <class S>
void contract_ints(const loop::CallArgs& call, const Args& g) {
  using T = std::conditional_t<std::is_same_v<S, int8_t>, int32_t, S>;
  using U = std::make_unsigned_t<T>;
  const S* a = reinterpret_cast<const S*>(call.buffers[0]);
  const S* b = reinterpret_cast<const S*>(call.buffers[1]);
  U* c = reinterpret_cast<U*>(call.buffers[2]);
  runtime::parallel_for(g.batch * g.m, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t p = row / g.m, i = row % g.m;
      U* out = c + row * g.n;
      const S* x = a + p * g.sab + i * g.sam;
      const S* y = b + p * g.sbb;
      if (g.sbn == 1) {
        std::fill(out, out + g.n, U(0));
        for (int64_t l = 0; l < g.k; ++l) {
          U e = U(T(x[l * g.sak]));
          const S* r = y + l * g.sbk;
#pragma GCC ivdep
          for (int64_t j = 0; j < g.n; ++j) out[j] += e * U(T(r[j]));
        }
      } else {
        for (int64_t j = 0; j < g.n; ++j) {
          U sum = 0;
          for (int64_t l = 0; l < g.k; ++l) sum += U(T(x[l * g.sak])) * U(T(y[l * g.sbk + j * g.sbn]));
          out[j] = sum;
        }
      }
    }
  }, std::max<int64_t>(1, kTaskFlops / (8 * g.n * g.k + 1)));
}

void contract(const loop::CallArgs& call) {
  auto& v = call.args;
  Args g{v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]};
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return;
  switch (static_cast<DType>(v[0])) {
    case DType::F32: return contract_floats<float>(call, g);
    case DType::F64: return contract_floats<double>(call, g);
    case DType::BF16: return contract_floats<BFloat16>(call, g);
    case DType::F16: return contract_floats<Float16>(call, g);
    case DType::I32: return contract_ints<int32_t>(call, g);
    case DType::I64: return contract_ints<int64_t>(call, g);
    case DType::U32: return contract_ints<uint32_t>(call, g);
    case DType::I8: return contract_ints<int8_t>(call, g);
    default: return loop::find_routine("contract")(call);
  }
}

}  // namespace

}  // namespace block

loop::Routine find_fast_routine(std::string_view name) {
  if (name == "contract") return block::contract;
  if (name == "attention") return block::attention;
  if (name == "attention_vjp") return block::attention_vjp;
  return loop::find_routine(name);
}

}  // namespace sheaf::codegen

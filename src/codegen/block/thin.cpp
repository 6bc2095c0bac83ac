// Thin products stream B. Where its rows are contiguous (thin_stream), a thread walks down a strip of columns, several rows at a time,
// past sums in the first-level cache, and asks for the next rows: the machine's own prefetching stops at the end of each row of a strip.
// Where its columns are (thin_transposed, weights kept as [N, K]), blocks of them are transposed in registers on their way,
// so that a vector holds neighbouring columns, each with its chain over k.
#include "codegen/block/thin.h"

#include <array>

#include "codegen/block/simd.h"
#include "loop/library.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {
namespace {

using loop::kContractBlock;

constexpr int kStreamDepth = 8;               // rows of B at a time
constexpr int kStreamSums = 16;               // vectors of sums in registers
constexpr int64_t kSumElements = 4096;        // of all rows of a strip: stay in the first-level cache
constexpr int64_t kMinStrip = 256, kMaxStrip = 2048;
constexpr int64_t kTaskFlops = 1 << 18;       // a task worth a thread: some 5 us

// By rows of A: 1, 2, 4, 8.
template <class T, class S>
using Stream = std::array<void (*)(int64_t n, const T* a, int64_t lda, const S* b, int64_t ldb, const S* next, T* sums, int64_t ld), 4>;
template <class T, class S>
struct Streams {
  Stream<T, S> deep, single;  // kStreamDepth and one k at a time
};
template <class T>
struct Kernels {
  Streams<T, T> same;
  const Streams<T, T>& of(const T*) const { return same; }
};
template <>
struct Kernels<float> {
  Streams<float, float> same;
  Streams<float, BFloat16> bf16;
  Streams<float, Float16> f16;
  const Streams<float, float>& of(const float*) const { return same; }
  const Streams<float, BFloat16>& of(const BFloat16*) const { return bf16; }
  const Streams<float, Float16>& of(const Float16*) const { return f16; }
};

#define SHEAF_KERNELS "codegen/block/thin_kernels.h"
#include "codegen/block/instruction_sets.h"

// The rows of A one after the other, in T: where they are if they are so, else in the scratch memory of this thread.
template <class T, class S>
Operand<T> contiguous_rows(const Operand<S>& a, int64_t m, int64_t k) {
  if constexpr (std::is_same_v<T, S>)
    if (a.k == 1) return a;
  T* to = scratch<T>(0, m * k);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) to[i * k + l] = widen<T>(*a.at(i, l));
  return {to, k, 1};
}

// Calls f(row, rows, form) for groups of 8, 4, 2 and 1 rows; 2^form = rows.
template <class F>
void row_groups(int64_t m, F&& f) {
  int64_t i = 0;
  for (int form = 3; form >= 0; --form)
    for (; m - i >= (1 << form); i += 1 << form) f(i, form);
}

// Strips of equal width, as many for each thread.
int64_t strip_width(int64_t m, int64_t n) {
  int64_t most = std::clamp(kSumElements / m, kMinStrip, kMaxStrip), threads = runtime::num_threads();
  int64_t each = pieces(n, threads * pieces(n, threads * most));
  return round_up(each, 64);
}

}  // namespace

template <class T, class S>
void thin_stream(const Operand<S>& a, const Operand<S>& b, T* c, int64_t m, int64_t n, int64_t k) {
  const Streams<T, S>& kern = kernels<T>().of(b.data);
  Operand<T> x = contiguous_rows<T>(a, m, k);
  int64_t width = strip_width(m, n), strips = pieces(n, width);
  runtime::parallel_for(strips, [&](int64_t begin, int64_t end) {
    T* sums = scratch<T>(1, m * width);
    for (int64_t strip = begin; strip < end; ++strip) {
      int64_t j = strip * width, columns = std::min(width, n - j);
      for (int64_t block = 0; block < k; block += kContractBlock) {
        std::fill(sums, sums + m * width, T(0));
        int64_t last = std::min(k, block + kContractBlock);
        for (int64_t l = block; l < last;) {
          bool deep = last - l >= kStreamDepth;
          int64_t depth = deep ? kStreamDepth : 1;
          // Behind the last rows of a strip come the first of the next.
          const S* next = l + 2 * depth <= k ? b.at(j, l + depth) : strip + 1 < end ? b.at(j + width, 0) : b.at(j, l);
          row_groups(m, [&](int64_t i, int form) {
            (deep ? kern.deep : kern.single)[form](columns, x.at(i, l), x.minor, b.at(j, l), b.k, i == 0 ? next : b.at(j, l), sums + i * width, width);
          });
          l += depth;
        }
        for (int64_t i = 0; i < m; ++i) {
          T* to = c + i * n + j;
          for (int64_t e = 0; e < columns; ++e) to[e] = (block == 0 ? T(0) : to[e]) + sums[i * width + e];
        }
      }
    }
  }, std::max<int64_t>(1, kTaskFlops / (2 * m * width * k + 1)));
}

template void thin_stream(const Operand<float>&, const Operand<float>&, float*, int64_t, int64_t, int64_t);
template void thin_stream(const Operand<double>&, const Operand<double>&, double*, int64_t, int64_t, int64_t);
template void thin_stream(const Operand<BFloat16>&, const Operand<BFloat16>&, float*, int64_t, int64_t, int64_t);
template void thin_stream(const Operand<Float16>&, const Operand<Float16>&, float*, int64_t, int64_t, int64_t);

#if defined(__aarch64__)
namespace {

constexpr int64_t kColumns = 8;  // of B at a time

// Four vectors, each of four consecutive words of a column, become four vectors of one word of each column.
inline void transpose_words(uint32x4_t (&w)[4]) {
  uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(w[0], w[1])), b = vreinterpretq_u64_u32(vtrn2q_u32(w[0], w[1]));
  uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(w[2], w[3])), d = vreinterpretq_u64_u32(vtrn2q_u32(w[2], w[3]));
  w[0] = vreinterpretq_u32_u64(vzip1q_u64(a, c));
  w[1] = vreinterpretq_u32_u64(vzip1q_u64(b, d));
  w[2] = vreinterpretq_u32_u64(vzip2q_u64(a, c));
  w[3] = vreinterpretq_u32_u64(vzip2q_u64(b, d));
}

// How words of memory become elements: kStep consecutive elements of a column are in a vector.
template <class S>
struct Turned;
template <>
struct Turned<float> {
  static constexpr int kStep = 4;
  // acc[i] += x[i] y for the kStep elements of each of four columns, in order; x[i] are row i's.
  template <int kRows>
  static void multiply(float32x4_t (&acc)[kRows], const uint32x4_t (&w)[4], const float* x, int64_t ldx) {
    float32x4_t y[4];
#pragma GCC unroll 4
    for (int e = 0; e < 4; ++e) y[e] = vreinterpretq_f32_u32(w[e]);
    multiply4(acc, y, x, ldx);
  }
  template <int kRows>
  static void multiply4(float32x4_t (&acc)[kRows], const float32x4_t (&y)[4], const float* x, int64_t ldx) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      float32x4_t r = vld1q_f32(x + i * ldx);
      acc[i] = vfmaq_laneq_f32(acc[i], y[0], r, 0);
      acc[i] = vfmaq_laneq_f32(acc[i], y[1], r, 1);
      acc[i] = vfmaq_laneq_f32(acc[i], y[2], r, 2);
      acc[i] = vfmaq_laneq_f32(acc[i], y[3], r, 3);
    }
  }
};
template <>
struct Turned<BFloat16> {
  static constexpr int kStep = 8;
  template <int kRows>
  static void multiply(float32x4_t (&acc)[kRows], const uint32x4_t (&w)[4], const float* x, int64_t ldx) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      float32x4_t y[4];
#pragma GCC unroll 2
      for (int e = 0; e < 2; ++e) {
        uint32x4_t both = w[half * 2 + e];
        y[2 * e] = vreinterpretq_f32_u32(vshlq_n_u32(both, 16));
        y[2 * e + 1] = vreinterpretq_f32_u32(vandq_u32(both, vdupq_n_u32(0xffff0000u)));
      }
      Turned<float>::multiply4(acc, y, x + half * 4, ldx);
    }
  }
};
template <>
struct Turned<Float16> {
  static constexpr int kStep = 8;
  template <int kRows>
  static void multiply(float32x4_t (&acc)[kRows], const uint32x4_t (&w)[4], const float* x, int64_t ldx) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      uint16x8_t a = vreinterpretq_u16_u32(w[half * 2]), b = vreinterpretq_u16_u32(w[half * 2 + 1]);
      float16x8_t even = vreinterpretq_f16_u16(vuzp1q_u16(a, b)), odd = vreinterpretq_f16_u16(vuzp2q_u16(a, b));
      float32x4_t y[4] = {vcvt_f32_f16(vget_low_f16(even)), vcvt_f32_f16(vget_low_f16(odd)), vcvt_high_f32_f16(even), vcvt_high_f32_f16(odd)};
      Turned<float>::multiply4(acc, y, x + half * 4, ldx);
    }
  }
};

// total[i][c] += the sum over `depth` k of x[i][k] column[c][k], for kRows rows and kColumns columns `ldb` apart.
template <class S, int kRows>
void transposed_block(const float* x, int64_t ldx, const S* b, int64_t ldb, int64_t depth, float* total) {
  constexpr int kStep = Turned<S>::kStep, kLine = 64 / sizeof(S), kGroups = kColumns / 4;
  float32x4_t acc[kGroups][kRows];
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g)
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) acc[g][i] = vdupq_n_f32(0);
  auto step = [&](int64_t l) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      uint32x4_t w[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) w[r] = vld1q_u32(reinterpret_cast<const uint32_t*>(b + (g * 4 + r) * ldb + l));
      transpose_words(w);
      Turned<S>::template multiply<kRows>(acc[g], w, x + l, ldx);
    }
  };
  int64_t l = 0;
  for (; l + kLine <= depth; l += kLine) {
    // The columns of the next block.
#pragma GCC unroll 8
    for (int r = 0; r < kColumns; ++r) __builtin_prefetch(b + (kColumns + r) * ldb + l);
#pragma GCC unroll 4
    for (int s = 0; s < kLine; s += kStep) step(l + s);
  }
  for (; l + kStep <= depth; l += kStep) step(l);
  for (; l < depth; ++l)
    for (int g = 0; g < kGroups; ++g) {
      float y[4];
      for (int e = 0; e < 4; ++e) y[e] = widen<float>(b[(g * 4 + e) * ldb + l]);
      for (int i = 0; i < kRows; ++i) acc[g][i] = vfmaq_n_f32(acc[g][i], vld1q_f32(y), x[i * ldx + l]);
    }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g) {
      float* to = total + i * kColumns + g * 4;
      vst1q_f32(to, vaddq_f32(vld1q_f32(to), acc[g][i]));
    }
}

}  // namespace

template <class S>
bool thin_transposed(const Operand<S>& a, const Operand<S>& b, float* c, int64_t m, int64_t n, int64_t k) {
  if (n < kColumns) return false;
  static constexpr std::array kBlocks{transposed_block<S, 1>, transposed_block<S, 2>, transposed_block<S, 4>, transposed_block<S, 8>};
  Operand<float> x = contiguous_rows<float>(a, m, k);
  runtime::parallel_for(pieces(n, kColumns), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      // The last block overlaps the one before it.
      int64_t j = p * kColumns, from = std::min(j, n - kColumns);
      row_groups(m, [&](int64_t i, int form) {
        float total[8 * kColumns] = {};
        for (int64_t l = 0; l < k; l += kContractBlock) kBlocks[form](x.at(i, l), x.minor, b.at(from, l), b.minor, std::min(kContractBlock, k - l), total);
        for (int64_t r = 0; r < 1 << form; ++r) std::memcpy(c + (i + r) * n + j, total + r * kColumns + j - from, (from + kColumns - j) * sizeof(float));
      });
    }
  }, std::max<int64_t>(1, kTaskFlops / (2 * m * kColumns * k + 1)));
  return true;
}
#else
template <class S>
bool thin_transposed(const Operand<S>&, const Operand<S>&, float*, int64_t, int64_t, int64_t) { return false; }
#endif

template bool thin_transposed(const Operand<float>&, const Operand<float>&, float*, int64_t, int64_t, int64_t);
template bool thin_transposed(const Operand<BFloat16>&, const Operand<BFloat16>&, float*, int64_t, int64_t, int64_t);
template bool thin_transposed(const Operand<Float16>&, const Operand<Float16>&, float*, int64_t, int64_t, int64_t);

}  // namespace sheaf::codegen::block

// Weights are read once, as they are stored, in strips of columns: a group of rows of a strip at a time, for all rows of x.
// 1. Each group of x becomes whole numbers, kept as their two bytes and together.
// 2. A group's sums for a column are exact in 32 bits, by instructions that multiply bytes and add four products (NEON) or 16-bit numbers and
//    add two (AVX2).
// 3. They are scaled and added to the row of the result.
#include "codegen/block/quantized.h"

#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codegen/block/tasks.h"
#include "loop/quantized.h"
#include "loop/scalar_ops.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen::block {
namespace {

constexpr int64_t kMaxGroup = 512;        // rows, for sums in 32 bits
constexpr int64_t kMaxDots = 128;         // for sums of bytes below 2^22
constexpr int64_t kSumElements = 4096, kMinStrip = 512, kMaxStrip = 2048;
constexpr int64_t kTaskElements = 1 << 18;
constexpr int64_t kQuad = 4;              // consecutive rows that lie side by side
constexpr int64_t kTile = loop::kQuantizedTile;
constexpr int64_t kAheadBytes = 6144, kSoonBytes = 512;
// A float of whole numbers: below 2^22 the bits of a sum with it are its own bits plus that number.
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
constexpr int32_t kRoundBits = std::bit_cast<int32_t>(kRound);
constexpr float kLeastStep = 0x1p-80f, kMostStep = 0x1p60f;  // between them nothing overflows on the way

// One group of one row of x, from its first element on.
struct Counts {
  const int8_t *high, *low;
  const int16_t* whole;              // 256 high + low
  int32_t high_offset, low_offset;   // added to the sums: 4 bits are stored with 8 added
  float step;
  int32_t offset() const { return 256 * high_offset + low_offset; }
};

// One group of a strip of weights: tiles of `rows` times 4 times `deep` bytes, one after the other.
struct Group {
  const uint8_t *bytes, *next_bytes;  // of the group after it
  int64_t rows, deep, columns;
  const float* scales;
  const float* next_scales;
  int64_t tile_bytes() const { return rows * kTile * deep; }
  // What is read so many bytes after `at`: behind the last columns of a strip come the first of the next group.
  const uint8_t* ahead(int64_t at) const {
    int64_t all = columns / kTile * tile_bytes();
    return at < all ? bytes + at : next_bytes + (at - all);
  }
};

// sums[column] += the sum over the group, for columns from `from` on.
template <bool kFourBits>
void add_group(const Counts& x, const Group& g, int64_t from, float* sums) {
  for (int64_t j = from; j < g.columns; ++j) {
    int32_t sum = x.offset();
    for (int64_t r = 0; r < g.rows; ++r)
      for (int64_t e = 0; e < g.deep; ++e) {
        uint8_t byte = g.bytes[j / kTile * g.tile_bytes() + (r * kTile + j % kTile) * g.deep + e];
        int64_t l = r * g.deep + e;
        int32_t w = kFourBits ? byte & 15 : static_cast<int8_t>(byte);
        sum += x.whole[l] * w;
        if (kFourBits) sum += x.whole[l + g.rows * g.deep] * (byte >> 4);
      }
    sums[j] = loop::scalar::apply<loop::Op::Fma>(static_cast<float>(sum) * x.step, g.scales[j], sums[j]);
  }
}
template <bool kFourBits>
void add_any(const Counts& x, const Group& g, float* sums) { add_group<kFourBits>(x, g, 0, sums); }

#if defined(__aarch64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
// For each vector, the sums of its four columns over four rows are added. As an instruction that stays in its place: a compiler puts those of one
// sum next to each other, where each waits for the one before.
template <int lane, int kVectors>
__attribute__((always_inline)) inline void add_products(int32x4_t (&sums)[kVectors], const uint8x16_t (&w)[kVectors], int8x16_t x) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) asm volatile("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sums[v]) : "w"(w[v]), "w"(x), "i"(lane));
}

// With kRows, there are so many rows of bytes.
template <bool kFourBits, int kVectors, int64_t kRows>
__attribute__((always_inline)) inline void dot_columns(const Counts& x, const Group& g, int64_t j, float* sums) {
  const int64_t rows = kRows ? kRows : g.rows, tile = rows * kTile * kQuad, half = rows * kQuad;
  int32x4_t high[kVectors], low[kVectors];  // sums with the bytes of x; with 4 bits there is one
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) high[v] = vdupq_n_s32(kRoundBits + x.high_offset), low[v] = vdupq_n_s32(kRoundBits + x.low_offset);
  const uint8_t* row = g.bytes + j / kTile * tile;
  // One row of bytes, whose elements of x are those of `lane` in the vectors from element l on.
  auto step = [&]<int lane>(std::integral_constant<int, lane>, int64_t l) __attribute__((always_inline)) {
    uint8x16_t w[kVectors], second[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      w[v] = vld1q_u8(row + v * tile);
      if constexpr (kFourBits) second[v] = vshrq_n_u8(w[v], 4), w[v] = vandq_u8(w[v], vdupq_n_u8(15));
    }
    if constexpr (!kFourBits) add_products<lane>(high, w, vld1q_s8(x.high + l));
    add_products<lane>(low, w, vld1q_s8(x.low + l));
    if constexpr (kFourBits) add_products<lane>(low, second, vld1q_s8(x.low + half + l));
    row += kTile * kQuad;
  };
  int64_t r = 0;
#pragma GCC unroll 2
  for (; r + 4 <= rows; r += 4) {
    step(std::integral_constant<int, 0>{}, r * kQuad);
    step(std::integral_constant<int, 1>{}, r * kQuad);
    step(std::integral_constant<int, 2>{}, r * kQuad);
    step(std::integral_constant<int, 3>{}, r * kQuad);
  }
  for (; r < rows; ++r) step(std::integral_constant<int, 0>{}, r * kQuad);
  // As floats they are 1.5 * 2^23 plus the sum, so nothing need be converted; that of the high bytes without that of both is exact.
  float h = x.step * 256;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    float32x4_t sum = vdupq_n_f32(-kRound * (kFourBits ? x.step : h + x.step));
    if constexpr (!kFourBits) sum = vfmaq_n_f32(sum, vreinterpretq_f32_s32(high[v]), h);
    sum = vfmaq_n_f32(sum, vreinterpretq_f32_s32(low[v]), x.step);
    float* to = sums + j + 4 * v;
    vst1q_f32(to, vfmaq_f32(vld1q_f32(to), sum, vld1q_f32(g.scales + j + 4 * v)));
  }
}

template <bool kFourBits, int64_t kRows>
void add_dots_of(const Counts& counts, const Group& group, float* sums) {
  const Counts x = counts;  // copies, which no store to the sums can change
  const Group g = group;
  constexpr int kVectors = 4;
  constexpr int64_t kColumns = kVectors * kTile;
  const int64_t tile = kTile * kQuad * (kRows ? kRows : g.rows), lines = kVectors * tile / 64;
  int64_t j = 0;
  for (; j + kColumns <= g.columns; j += kColumns) {
    __builtin_prefetch(g.next_scales + j, 0, 2);
    const uint8_t *far = g.ahead(j / kTile * tile + kAheadBytes), *soon = g.ahead(j / kTile * tile + kSoonBytes);
#pragma GCC unroll 8
    for (int64_t line = 0; line < lines; ++line) {
      __builtin_prefetch(far + line * 64, 0, 2);
      __builtin_prefetch(soon + line * 64);
    }
    dot_columns<kFourBits, kVectors, kRows>(x, g, j, sums);
  }
  for (; j + kTile <= g.columns; j += kTile) dot_columns<kFourBits, 1, kRows>(x, g, j, sums);
  add_group<kFourBits>(x, g, j, sums);
}

template <bool kFourBits>
void add_dots(const Counts& x, const Group& g, float* sums) {
  constexpr int64_t kRows = kFourBits ? 4 : 8;  // of groups of 32
  if (!(x.step > kLeastStep && x.step < kMostStep)) return add_group<kFourBits>(x, g, 0, sums);
  g.rows == kRows ? add_dots_of<kFourBits, kRows>(x, g, sums) : add_dots_of<kFourBits, 0>(x, g, sums);
}
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

bool has_dots() {
  static const bool has = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return has;
}
#elif defined(__x86_64__)
#define SHEAF_AVX2 __attribute__((target("avx2,fma")))
SHEAF_AVX2 inline __m256i four_times(const int16_t* p) {
  int64_t all;
  std::memcpy(&all, p, sizeof all);
  return _mm256_set1_epi64x(all);
}
SHEAF_AVX2 inline __m128i sums_of_pairs(__m256i v) {
  __m256i pairs = _mm256_hadd_epi32(v, v);
  return _mm_unpacklo_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

// Four columns: each has two partial sums side by side.
template <bool kFourBits>
SHEAF_AVX2 void add_dots(const Counts& x, const Group& g, float* sums) {
  int64_t j = 0, half = g.rows * kQuad;
  for (; j + 4 <= g.columns; j += 4) {
    __m256i total = _mm256_setzero_si256();
    auto add = [&](__m256i w, int64_t l) SHEAF_AVX2 { total = _mm256_add_epi32(total, _mm256_madd_epi16(w, four_times(x.whole + l))); };
    for (int64_t r = 0; r < g.rows; ++r) {
      const uint8_t* row = g.bytes + j / kTile * g.tile_bytes() + r * kTile * kQuad;
      if (r % 4 == 0) _mm_prefetch(reinterpret_cast<const char*>(row + kAheadBytes), _MM_HINT_T1);
      __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
      if constexpr (kFourBits) {
        __m128i mask = _mm_set1_epi8(15);
        add(_mm256_cvtepu8_epi16(_mm_and_si128(w, mask)), r * kQuad);
        add(_mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(w, 4), mask)), half + r * kQuad);
      } else {
        add(_mm256_cvtepi8_epi16(w), r * kQuad);
      }
    }
    __m128 sum = _mm_mul_ps(_mm_cvtepi32_ps(_mm_add_epi32(sums_of_pairs(total), _mm_set1_epi32(x.offset()))), _mm_set1_ps(x.step));
    _mm_storeu_ps(sums + j, _mm_fmadd_ps(sum, _mm_loadu_ps(g.scales + j), _mm_loadu_ps(sums + j)));
  }
  add_group<kFourBits>(x, g, j, sums);
}
#undef SHEAF_AVX2

bool has_dots() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

using AddGroup = void (*)(const Counts& x, const Group& g, float* sums);

AddGroup kernel_for(bool four_bits, int64_t deep, int64_t group) {
#if defined(__aarch64__) || defined(__x86_64__)
  if (deep == kQuad && group <= kMaxDots && has_dots()) return four_bits ? add_dots<true> : add_dots<false>;
#endif
  return four_bits ? add_any<true> : add_any<false>;
}

// The rows of x as whole numbers: for each row and group where its bytes are, and its step.
class Counted {
 public:
  Counted(const float* x, const loop::QuantizedArgs& g) : groups_(g.groups) {
    int64_t size = g.group_size(), k = g.groups * size, all = g.m * k;
    // A vector of bytes is read from any quad on.
    int8_t *high = scratch<int8_t>(0, 2 * (all + 16)), *low = high + all + 16;
    int16_t* whole = scratch<int16_t>(0, all);
    counts_ = scratch<Counts>(0, g.m * g.groups);
    float* row = scratch<float>(0, size);
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t q = 0; q < g.groups; ++q) {
        const float* from = x + i * g.x.row + q * size * g.x.k;
        if (g.x.k != 1) {
          for (int64_t l = 0; l < size; ++l) row[l] = from[l * g.x.k];
          from = row;
        }
        int64_t at = i * k + q * size;
        counts_[i * groups_ + q] = count(from, size, g.four_bits, high + at, low + at, whole + at);
      }
  }
  const Counts& at(int64_t row, int64_t group) const { return counts_[row * groups_ + group]; }

 private:
  static Counts count(const float* x, int64_t size, bool four_bits, int8_t* __restrict high, int8_t* __restrict low, int16_t* __restrict whole) {
    uint32_t largest = 0;
    for (int64_t l = 0; l < size; ++l) largest = std::max(largest, std::bit_cast<uint32_t>(x[l]) & 0x7fffffffu);
    loop::QuantizedStep step(largest, four_bits);
    if (step.step == step.step)
      for (int64_t l = 0; l < size; ++l) whole[l] = static_cast<int16_t>(step.count(x[l]));
    else
      std::fill_n(whole, size, int16_t{0});
    // Loops of their own, which compilers turn into vectors.
    for (int64_t l = 0; l < size; ++l) high[l] = static_cast<int8_t>(loop::high_byte(whole[l]));
    for (int64_t l = 0; l < size; ++l) low[l] = static_cast<int8_t>(whole[l]);
    if (!four_bits) return {high, low, whole, 0, 0, step.step};
    int32_t highs = 0, lows = 0;
    for (int64_t l = 0; l < size; ++l) highs += high[l];
    for (int64_t l = 0; l < size; ++l) lows += low[l];
    return {high, low, whole, -8 * highs, -8 * lows, step.step};
  }

  int64_t groups_;
  Counts* counts_;
};

void multiply(const float* x, const uint8_t* values, const float* scales, float* out, const loop::QuantizedArgs& g) {
  Counted counted(x, g);
  AddGroup kernel = kernel_for(g.four_bits, g.deep, g.group_size());
  int64_t width = strip_width(g.n, std::clamp(kSumElements / std::max<int64_t>(1, g.m), kMinStrip, kMaxStrip), 16);
  runtime::parallel_for(pieces(g.n, width), [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      int64_t j = strip * width, columns = std::min(width, g.n - j);
      for (int64_t i = 0; i < g.m; ++i) std::fill_n(out + i * g.n + j, columns, 0.0f);
      for (int64_t q = 0; q < g.groups; ++q) {
        const uint8_t* bytes = values + q * g.values.group + j / kTile * g.rows * kTile * g.deep;
        const float* here = scales + q * g.scales.group + j;
        bool last = q + 1 == g.groups;
        for (int64_t i = 0; i < g.m; ++i)
          kernel(counted.at(i, q), {bytes, last ? bytes : bytes + g.values.group, g.rows, g.deep, columns, here, last ? here : here + g.scales.group}, out + i * g.n + j);
      }
    }
  }, std::max<int64_t>(1, kTaskElements / (g.m * width * g.groups * g.group_size() + 1)));
}

}  // namespace

void contract_quantized(const loop::CallArgs& call) {
  loop::QuantizedArgs g(call.args);
  auto is = [](int64_t size, int64_t stride, int64_t wanted) { return size <= 1 || stride == wanted; };
  bool in_order = is(g.deep, g.values.deep, 1) && g.values.column == g.deep && is(g.rows, g.values.row, kTile * g.deep) &&
                  is(pieces(g.n, kTile), g.values.tile, g.rows * kTile * g.deep) && is(g.n, g.scales.column, 1);
  if (static_cast<DType>(g.dtype) != DType::F32 || !in_order || g.group_size() > kMaxGroup) return loop::find_routine("contract_quantized")(call);
  if (g.m <= 0 || g.n <= 0) return;
  for (int64_t p = 0; p < g.batch; ++p)
    multiply(reinterpret_cast<const float*>(call.buffers[0]) + p * g.x.batch, reinterpret_cast<const uint8_t*>(call.buffers[1]) + p * g.values.batch,
             reinterpret_cast<const float*>(call.buffers[2]) + p * g.scales.batch, reinterpret_cast<float*>(call.buffers[3]) + p * g.m * g.n, g);
}

}  // namespace sheaf::codegen::block

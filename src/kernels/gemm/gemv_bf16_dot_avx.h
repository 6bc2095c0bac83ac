// bf16 GEMV with vdpbf16ps: included by gemv_bf16_dot.cpp inside a region that is compiled for it.
#pragma once

inline __m512 add_dots(__m512 sums, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}

// Sums of columns: a vector holds the chains of four columns.
struct ColumnSums {
  static constexpr int kColumns = 8, kRounds = 4, kSpread = 1;  // kRounds: of all chains in a line
  __m512 sums[kColumns / 4];

  ColumnSums() {
#pragma GCC unroll 8
    for (__m512& s : sums)
      s = _mm512_setzero_ps();
  }
  // Adds a line of each column, `apart` elements apart. Prefetches later lines of each: the hardware prefetcher is too
  // late for eight columns.
  void add(const BFloat16* x, const BFloat16* columns, int64_t apart) {
    constexpr int kAhead = 1024 / sizeof(BFloat16);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c)
      __builtin_prefetch(columns + c * apart + kAhead);
    auto quad = [](const BFloat16* p)
                    __attribute__((always_inline)) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
#pragma GCC unroll 8
    for (int t = 0; t < kRounds; ++t) {
      const __m512i each = _mm512_broadcast_i32x4(quad(x + t * 8));
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; c += 4) {
        const BFloat16* from = columns + c * apart + t * 8;
        __m512i y = _mm512_broadcast_i32x4(quad(from));
        y = _mm512_mask_broadcast_i32x4(y, 0x00f0, quad(from + apart));
        y = _mm512_mask_broadcast_i32x4(y, 0x0f00, quad(from + 2 * apart));
        y = _mm512_mask_broadcast_i32x4(y, 0xf000, quad(from + 3 * apart));
        sums[c / 4] = add_dots(sums[c / 4], y, each);
      }
    }
  }
  void add_to(float* out) const {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; c += 4) {
      float blocks[4];
      avx512::Simd<float>::sum_quads(sums[c / 4], blocks);  // adds adjacent lanes first
      for (int i = 0; i < 4; ++i)
        out[c + i] += blocks[i];
    }
  }
};

// Elements of x, in pairs, by which rows are multiplied.
template <int kPairs>
struct Factors {
  __m512i pairs[kPairs];
  explicit Factors(const BFloat16* x) {
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      int32_t pair;
      std::memcpy(&pair, x + 2 * p, sizeof pair);
      pairs[p] = _mm512_set1_epi32(pair);
    }
  }
};

// Sums of one chain of adjacent columns.
struct RowSums {
  static constexpr int kWidth = 32;
  __m512 low, high;

  explicit RowSums(const float* from) : low(_mm512_loadu_ps(from)), high(_mm512_loadu_ps(from + 16)) {}
  template <int p, int kPairs>
  void add(const Factors<kPairs>& x, const BFloat16* even, const BFloat16* odd) {
    const __m512i first = _mm512_load_si512(&kZipOrder);
    const __m512i a = _mm512_loadu_si512(even), b = _mm512_loadu_si512(odd);
    low = add_dots(low, _mm512_permutex2var_epi16(a, first, b), x.pairs[p]);
    high = add_dots(high, _mm512_permutex2var_epi16(a, _mm512_add_epi16(first, _mm512_set1_epi16(16)), b), x.pairs[p]);
  }
  void store(float* to) const { _mm512_storeu_ps(to, low), _mm512_storeu_ps(to + 16, high); }
};

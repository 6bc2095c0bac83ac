// bf16 GEMV with bfdot: included by gemv_bf16_dot.cpp inside a region that is compiled for it.
#pragma once

inline bfloat16x8_t load(const BFloat16* p) { return vreinterpretq_bf16_u16(vld1q_u16(&p->bits)); }

// Sums of columns: a vector holds the chains of one column.
struct ColumnSums {
  static constexpr int kColumns = 4, kRounds = 4;  // of all chains in a line
  static constexpr int kSpread = 3;  // lines of x are spread out: the hardware prefetcher would also follow a
                                     // contiguous x of 5 to 8 KiB; that costs the columns a tenth of their bandwidth
  float32x4_t sums[kColumns];

  ColumnSums() {
#pragma GCC unroll 8
    for (float32x4_t& s : sums)
      s = vdupq_n_f32(0);
  }
  // Adds a line of each column, `apart` elements apart.
  void add(const BFloat16* x, const BFloat16* columns, int64_t apart) {
    bfloat16x8_t each[kRounds];
#pragma GCC unroll 8
    for (int t = 0; t < kRounds; ++t)
      each[t] = load(x + t * 8);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c)
#pragma GCC unroll 8
      for (int t = 0; t < kRounds; ++t)
        sums[c] = vbfdotq_f32(sums[c], load(columns + c * apart + t * 8), each[t]);
  }
  void add_to(float* out) const {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c)
      out[c] += vaddvq_f32(sums[c]);  // adds adjacent lanes first
  }
};

// Elements of x, in pairs, by which rows are multiplied.
template <int kPairs>
struct Factors {
  bfloat16x8_t pairs;
  explicit Factors(const BFloat16* x) {
    if constexpr (kPairs == 4)
      pairs = load(x);
    else
      pairs = vreinterpretq_bf16_u16(vsetq_lane_u16(x[1].bits, vsetq_lane_u16(x[0].bits, vdupq_n_u16(0), 0), 1));
  }
};

// Sums of one chain of adjacent columns.
struct RowSums {
  static constexpr int kWidth = 8;
  float32x4_t low, high;

  explicit RowSums(const float* from) : low(vld1q_f32(from)), high(vld1q_f32(from + 4)) {}
  template <int p, int kPairs>
  void add(const Factors<kPairs>& x, const BFloat16* even, const BFloat16* odd) {
    uint16x8_t a = vreinterpretq_u16_bf16(load(even)), b = vreinterpretq_u16_bf16(load(odd));
    low = vbfdotq_laneq_f32(low, vreinterpretq_bf16_u16(vzip1q_u16(a, b)), x.pairs, p);
    high = vbfdotq_laneq_f32(high, vreinterpretq_bf16_u16(vzip2q_u16(a, b)), x.pairs, p);
  }
  void store(float* to) const { vst1q_f32(to, low), vst1q_f32(to + 4, high); }
};

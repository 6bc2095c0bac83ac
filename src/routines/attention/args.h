// Attention as a routine of the library: y = softmax(scale q kᵀ + mask) v by streaming over the columns, and its
// reverse. Everything that decides a bit is said here, plainly computed in attention.cpp, and computed fast by a back
// end.
//
// Arrays: q [B, H, T, D], k [B, G, S, D], v [B, G, S, E] with H a multiple of G (query heads that share a key head are
// neighbours); scale, offset, window [B]; mask [B, H, T, S], Bool (what may be seen) or added to the scores. Row i
// stands at position i + offset; with `causal` it sees columns up to its position, and always only columns less than
// `window` away. Results: y [B, T, H, E] and lse [B, T, H], the logarithm of each row's sum of exponentials; dq, dk, dv
// [B, T, H, D], [B, S, G, D], [B, S, G, E]. Narrow floats are widened when read and rounded when a result is stored.
//
// Forward. Rows in groups of kAttentionRows share the range of columns from the first to the last that one of them may
// see by position; columns come in blocks, a block in which a Bool mask shows no row of the group anything is left out.
// For each row:
//   s_j = chain of fused multiply-adds over d of (q_d scale) k_jd, from 0; plus the mask; -inf where not seen
//   m' = max(m, s_j of the block), c = decay(m - m'), p_j = decay(s_j - m')   (0 for m' while that is -inf)
//   l = l c + p_j + …, y = y c, then a chain of fused multiply-adds p_j v_j, both in order of j
// A row alone (T = 1) is bound by reading k and v, so that vectors should run along d and j: kAttentionChains chains
// take every d, and every p_j of a block, one after the other, from 0 (of l the first one from l c), and sum_of_chains
// adds them up. Everything begins anew, from m = -inf, l = 0, y = 0, in every stretch of kAttentionStretch columns that
// has a block. A stretch (m2, l2, y2) joins those before it:
//   m' = max(m, m2), a = decay(m - m'), b = decay(m2 - m'), l = fma(l2, b, l a), y = fma(y2, b, y a)
// Last, y (1 / l) and m + log(l). So a row that sees nothing is NaN, and what comes after all that a group sees is
// never read.
//
// Reverse, given lse, dy [B, T, H, E] and delta [B, T, H] (the sum of dy y, less what flows into lse), with s_ij as
// above (one chain also for a row alone):
//   p_ij = decay(s_ij - lse_i), ds_ij = p_ij (dp_ij - delta_i), dp_ij = chain over e of dy_ie v_je; ds is 0 where not
//   seen
//   dq_i = scale times the chain over j of ds_ij k_j, dk_j = scale times the chain over the heads of the group and
//   i of ds_ij q_i, dv_j = chain over the same of p_ij dy_i; over the same groups and blocks, but over all for a group
//   with a row whose lse is not finite, since that row's NaN is in every weight.
//
// With Arithmetic::bf16_tiles, attention of bf16 with at least kAttentionRows rows forms its sums of products as the
// matrix unit does (scalar::Bf16TileSum), 32 terms at a time, the last ones filled up with zeros:
//   rows come in groups of kTileRows, and the terms of a block of columns begin at the first column of its group's
//   range s_j = scale times the sum over d of q_d k_jd, from 0; plus the mask y = y c, then the sum over the block of
//   rounded(p_j) v_j; l is the sum of the p_j as they were dp_ij, dq_i, dk_j, dv_j likewise: over e, over the block's
//   columns of rounded(ds_ij) k_j, over the group's rows of rounded(ds_ij) q_i and of rounded(p_ij) dy_i; columns of
//   the block up to a multiple of 32 from its first take part with 0
// where rounded(x) is x in bf16, with subnormal x taken as zero.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>

#include "routines/routine.h"
#include "scalar/bf16_dot.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

inline constexpr int64_t kTileRows = 32, kTileTerms = scalar::kBf16TileTerms;
inline constexpr int64_t kAttentionRows = 16, kAttentionBlock = 64, kAttentionStretch = 512, kAttentionChains = 16;

template <class T>
T sum_of_chains(const T (&c)[kAttentionChains]) {
  T four[4];
  for (int i = 0; i < 4; ++i)
    four[i] = (c[i] + c[i + 8]) + (c[i + 4] + c[i + 12]);
  return (four[0] + four[1]) + (four[2] + four[3]);
}

enum class MaskKind : int64_t { None, Bool, Added };

// Arrays are strides, in the order of the axes above. Buffers: q, k, v, scale, offset, window, the mask if there is
// one, y, lse.
template <class Int = int64_t>
struct AttentionArgs {
  static constexpr std::string_view kRoutine = "attention";
  static constexpr int kMaskBuffer = 6;
  DType dtype;
  bool causal;
  MaskKind mask;
  Int batch, heads, groups, rows, columns, depth, width;  // B H G T S D E
  std::array<Int, 4> q, k, v;
  Int scale, offset, window;
  std::array<Int, 4> mask_strides;
  Int heads_per_group() const { return heads / groups; }
  // The buffer of the first result; the mask's is the last before it.
  int first_result(int mask_buffer = kMaskBuffer) const { return mask_buffer + (mask != MaskKind::None); }
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.causal), f(self.mask);
    f(self.batch), f(self.heads), f(self.groups), f(self.rows), f(self.columns), f(self.depth), f(self.width);
    f(self.q), f(self.k), f(self.v), f(self.scale), f(self.offset), f(self.window), f(self.mask_strides);
  }
};

// Buffers: q, k, v, scale, offset, window, lse, delta, dy, the mask if there is one, dq, dk, dv.
template <class Int = int64_t>
struct AttentionVjpArgs : AttentionArgs<Int> {
  static constexpr std::string_view kRoutine = "attention_vjp";
  static constexpr int kMaskBuffer = 9;
  std::array<Int, 3> lse, delta;
  std::array<Int, 4> dy;
  static void fields(auto& self, auto&& f) {
    AttentionArgs<Int>::fields(self, f);
    f(self.lse), f(self.delta), f(self.dy);
  }
};

inline bool sums_by_tiles(Arithmetic arithmetic, const AttentionArgs<>& a) {
  return arithmetic.bf16_tiles && a.dtype == DType::BF16 && a.rows >= kAttentionRows;
}

// The columns that rows [first, last] may see by position.
struct ColumnRange {
  int64_t begin, end;
};
class Sight {
 public:
  Sight(const AttentionArgs<>& a, int64_t offset, int64_t window)
      : causal_(a.causal),
        columns_(a.columns),
        offset_(std::clamp(offset, -kFar, kFar)),
        window_(std::clamp<int64_t>(window, 0, 2 * kFar)) {}
  ColumnRange range(int64_t first, int64_t last) const {
    int64_t begin = std::max<int64_t>(0, first + offset_ - window_ + 1),
            end = std::min(columns_, last + offset_ + window_);
    if (causal_) end = std::min(end, last + offset_ + 1);
    if (window_ == 0 || begin >= end) return {0, 0};
    return {begin, end};
  }
  bool operator==(const Sight&) const = default;

 private:
  static constexpr int64_t kFar = int64_t{1} << 40;
  bool causal_;
  int64_t columns_, offset_, window_;
};

void attention(const RoutineCall& call, const AttentionArgs<>& args);
void attention_vjp(const RoutineCall& call, const AttentionVjpArgs<>& args);

}  // namespace sheaf::routines

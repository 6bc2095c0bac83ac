// Attention as a routine: y = softmax(scale q kᵀ + mask) v by streaming over the columns (online softmax), and its
// gradient. This comment states everything that the result bits depend on; attention.cpp is the reference and
// kernels/attention has the fast algorithms.
//
// Arrays: q [B, H, T, D], k [B, G, S, D], v [B, G, S, E] with H a multiple of G (query heads that share a key head are
// adjacent); scale, offset, window [B]; mask [B, H, T, S], Bool (true: visible) or added to the scores. Row i is at
// position i + offset; with `causal` it sees columns up to its position, and always only columns less than `window`
// away. Results: y [B, T, H, E] and lse [B, T, H], the logarithm of each row's sum of exponentials; dq, dk, dv
// [B, T, H, D], [B, S, G, D], [B, S, G, E]. Narrow floats are widened when read and rounded when a result is stored.
//
// Forward. Rows are processed in groups of kAttentionRows. A group reads one range of columns: from the first to the
// last that any of its rows may see by position. Columns come in blocks; a block in which a Bool mask hides every
// column from every row of the group is skipped. For each row:
//   s_j = chain of fused multiply-adds over d of (q_d scale) k_jd, from 0; plus the mask; -inf if not visible
//   m' = max(m, s_j of the block), c = decay(m - m'), p_j = decay(s_j - m')   (0 for m' while that is -inf)
//   l = l c + p_j + …, y = y c, then a chain of fused multiply-adds p_j v_j, both in order of j
// A single row (T = 1) is bound by reading k and v, so vectors should run along d and j: element d, and p_j of a block,
// go round-robin to kAttentionChains chains that start from 0 (for l the first chain starts from l c), and
// sum_of_chains adds the chains. The state restarts from m = -inf, l = 0, y = 0 in every segment of kAttentionStretch
// columns that has a block. The state of a segment (m2, l2, y2) is merged into that of the segments before it:
//   m' = max(m, m2), a = decay(m - m'), b = decay(m2 - m'), l = fma(l2, b, l a), y = fma(y2, b, y a)
// Last, y (1 / l) and m + log(l). So a row that sees no column is NaN, and columns after the range of a group are
// never read.
//
// Gradient, given lse, dy [B, T, H, E] and delta [B, T, H] (the sum of dy y, minus the adjoint of lse), with s_ij as
// above (one chain also for a single row):
//   p_ij = decay(s_ij - lse_i), ds_ij = p_ij (dp_ij - delta_i), dp_ij = chain over e of dy_ie v_je; ds is 0 if j is not
//   visible to i
//   dq_i = scale times the chain over j of ds_ij k_j, dk_j = scale times the chain over the heads of the group and
//   i of ds_ij q_i, dv_j = chain over the same of p_ij dy_i; over the same groups and blocks, but over all blocks for a
//   group with a row whose lse is not finite, since every weight of that row is NaN.
//
// With Arithmetic::bf16_tiles, attention of bf16 with at least kAttentionRows rows forms its sums of products as the
// matrix unit does (scalar::Bf16TileSum), 32 terms at a time, the last group padded with zeros:
//   - Rows come in groups of kTileRows; the terms of a block of columns begin at the first column of its group's range.
//   - s_j = scale times the sum over d of q_d k_jd, from 0; plus the mask.
//   - y = y c, then the sum over the block of rounded(p_j) v_j; l sums the p_j before rounding.
//   - dp_ij, dq_i, dk_j, dv_j likewise: over e, over the block's columns of rounded(ds_ij) k_j, over the group's rows
//     of rounded(ds_ij) q_i and of rounded(p_ij) dy_i; in dk and dv also the columns after the range, up to a multiple
//     of 32 columns from the block's first, take part with weight 0.
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

// The arrays hold strides, in the order of the axes above. Buffers: q, k, v, scale, offset, window, the mask if there
// is one, y, lse.
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
  // The number of the first result's buffer; the mask, if any, is the buffer before it.
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

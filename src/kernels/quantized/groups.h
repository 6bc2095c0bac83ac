// Operands of the kernels for products with quantized weights (routines/quantized/args.h defines the stored layout),
// and the plain kernel.
#pragma once
#include <cstdint>

#include "routines/quantized/args.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

constexpr int64_t kTile = routines::kQuantizedTile;
// Adjacent rows of a column that one instruction takes: eight of 8 bits, or twice four of 4 bits.
template <bool kFourBits>
constexpr int64_t kDeep = kFourBits ? 4 : 8;

// One group of one row of x, quantized to integers.
struct Counts {
  const int8_t* bytes;  // for weights of 8 bits the high and then the low bytes of eight numbers, and so on; for 4 bits
                        // one byte of each
  const int16_t* whole;
  int32_t offset;  // added to sums: 4 bits are stored with 8 added
  float step;
};

// Adjacent groups of a strip of weights: each has consecutive tiles of `rows` times 4 times `deep` bytes.
struct Groups {
  const uint8_t* bytes;
  const float* scales;
  int64_t bytes_apart, scales_apart;  // from one group to the next
  int64_t count, rows, deep, columns;
  bool last;  // none follow
  int64_t tile_bytes() const { return rows * kTile * deep; }
  const uint8_t* tile(int64_t group, int64_t column) const {
    return bytes + group * bytes_apart + column / kTile * tile_bytes();
  }
  const float* scales_of(int64_t group) const { return scales + group * scales_apart; }
};

// The rows of x to multiply with these groups: x has the counts of each group of a row; those of the next row are
// `apart` entries later. `ld` is the leading dimension of `sums`.
struct QuantizedRows {
  const Counts* x;
  int64_t apart, count;
  float* sums;
  int64_t ld;
};

// sums[row][column] += the sum over each group, in order, for columns from `from` on.
template <bool kFourBits>
void add_groups(const QuantizedRows& rows, const Groups& g, int64_t from) {
  for (int64_t i = 0; i < rows.count; ++i)
    for (int64_t q = 0; q < g.count; ++q)
      for (int64_t j = from; j < g.columns; ++j) {
        const Counts& x = rows.x[i * rows.apart + q];
        int32_t sum = x.offset;
        for (int64_t r = 0; r < g.rows; ++r)
          for (int64_t e = 0; e < g.deep; ++e) {
            uint8_t byte = g.tile(q, j)[(r * kTile + j % kTile) * g.deep + e];
            int64_t l = r * g.deep + e;
            int32_t w = kFourBits ? byte & 15 : static_cast<int8_t>(byte);
            sum += x.whole[l] * w;
            if (kFourBits) sum += x.whole[l + g.rows * g.deep] * (byte >> 4);
          }
        float& to = rows.sums[i * rows.ld + j];
        to = scalar::apply<scalar::Op::Fma>(static_cast<float>(sum) * x.step, g.scales_of(q)[j], to);
      }
}

}  // namespace sheaf::kernels

// Products with quantized weights as a routine: the layout of the weights, and the definition to the bit.
//
// A weight is an integer times a scale; a column has one scale for each group of rows. Integers have 8 bits (i8), or 4
// bits with a zero point of 8 (u8, two to a byte: the low nibbles hold the first half of the group's rows, the high
// nibbles the second half). They are stored as [groups, tiles, rows, 4, deep]: a tile is four columns, and `deep`
// consecutive rows of a column are adjacent. So a register load gives the operands of one dot-product instruction, and
// memory is read sequentially. Padding columns of the last tile are not read.
//
// In f32 a group of x is quantized too, to 16-bit integers times a power of two: an element loses at most about 2^-15
// of the group's largest, a hundredth of the error of 8-bit weights. For 4-bit weights x has 8 bits: 2^-7, a tenth of
// the error of the weights. Sums within a group are then exact in any order; sums over groups are fused multiply-adds
// in f32, in order. An element of x that is not finite makes its row NaN. In f64 everything is a chain of fused
// multiply-adds.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "routines/routine.h"
#include "tensor/dtype.h"

namespace sheaf::routines {

// Buffers: x, values, scales, out (contiguous). Strides are in elements.
template <class Int = int64_t>
struct QuantizedArgs {
  static constexpr std::string_view kRoutine = "contract_quantized";
  DType dtype;
  bool four_bits;
  Int batch, m, n, groups, rows, deep;
  struct {
    Int batch, row, k;
  } x;
  struct {
    Int batch, group, tile, row, column, deep;
  } values;
  struct {
    Int batch, group, column;
  } scales;
  static void fields(auto& self, auto&& f) {
    f(self.dtype), f(self.four_bits), f(self.batch), f(self.m), f(self.n), f(self.groups), f(self.rows), f(self.deep);
    f(self.x.batch), f(self.x.row), f(self.x.k);
    f(self.values.batch), f(self.values.group), f(self.values.tile), f(self.values.row), f(self.values.column),
        f(self.values.deep);
    f(self.scales.batch), f(self.scales.group), f(self.scales.column);
  }
  Int stored() const { return rows * deep; }  // rows of bytes in a group
  Int group_size() const { return four_bits ? 2 * stored() : stored(); }
};

inline constexpr int64_t kQuantizedTile = 4;  // columns

// The quantization step of a group of x, a power of two, and its inverse. `largest`: the bits of the largest magnitude
// in the group. Steps have a lower bound: elements below 2^-100 lose their last bits.
struct QuantizedStep {
  float step, inverse;
  QuantizedStep(uint32_t largest, bool four_bits) {
    constexpr uint32_t kInfinity = 255u << 23;
    const uint32_t bits = four_bits ? 6 : 14;
    // Counts from 2^15 - 256 (8 bits: 127) on would overflow: such a group takes the next power of two.
    constexpr uint32_t kCarry = 1 << 17;
    uint32_t exponent = std::max((std::min(largest, kInfinity - 1) + kCarry) >> 23, 27u);
    inverse = std::bit_cast<float>((254 + bits - exponent) << 23);
    step =
        largest >= kInfinity ? std::numeric_limits<float>::quiet_NaN() : std::bit_cast<float>((exponent - bits) << 23);
  }
  // x as an integer number of steps, rounded to nearest even.
  int32_t count(float x) const {
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: sums with it have no bits below one
    return std::bit_cast<int32_t>(x * inverse + kRound) - std::bit_cast<int32_t>(kRound);
  }
};

// count = 256 high + low, where low is in [-128, 128): the count's last byte.
inline int32_t high_byte(int32_t count) { return (count + 128) >> 8; }

void contract_quantized(const RoutineCall& call, const QuantizedArgs<>& args);

}  // namespace sheaf::routines

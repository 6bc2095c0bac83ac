// The micro-kernels of byte_tiles.h in plain C++, on any processor. Included by byte_tiles.cpp.
#pragma once
#include <algorithm>
#include <bit>

#include "kernels/quantized/byte_tiles.h"
#include "kernels/quantized/groups.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels::plain {

// Offsets of an element in a panel: of row i of x in its tile, or of a column of weights.
inline int64_t x_offset(const ByteLayout& g, int64_t tile, int64_t i, int64_t l) {
  return ((l / g.depth * 2 + tile) * kByteTileRows + i) * g.depth + l % g.depth;
}
inline int64_t weight_offset(const ByteLayout& g, int64_t column, int64_t l) {
  const int64_t tile = l / g.depth * 2 + column / kByteTileRows, k = l % g.depth;
  return tile * kByteTileRows * g.depth + (k / 4 * kByteTileRows + column % kByteTileRows) * 4 + k % 4;
}

inline uint32_t largest_of(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t l = 0; l < count; ++l)
    largest = std::max(largest, std::bit_cast<uint32_t>(x[l]) & 0x7fffffffu);
  return largest;
}

inline void pack_x(int8_t* to, float* steps, const float* x, int64_t apart, int64_t rows, const ByteLayout& g) {
  for (int64_t i = 0; i < g.panel_rows(); ++i) {
    const bool used = i < rows;
    const float* from = x + (used ? i * apart : 0);
    const routines::QuantizedStep step(used ? largest_of(from, g.group()) : 0, g.four_bits);
    steps[i] = step.step;
    const bool finite = used && step.step == step.step;
    for (int64_t l = 0; l < g.group(); ++l) {
      const int32_t count = finite ? step.count(from[l]) : 0;
      const int64_t tile = g.four_bits ? i / kByteTileRows : 0, row = i % kByteTileRows;
      to[x_offset(g, tile, row, l)] = static_cast<int8_t>(g.four_bits ? count : routines::high_byte(count));
      if (!g.four_bits) to[x_offset(g, 1, row, l)] = static_cast<int8_t>(count);
    }
  }
}

inline void pack_weights(int8_t* to, const StoredGroup& from, const ByteLayout& g) {
  const int64_t deep = g.four_bits ? kDeep<true> : kDeep<false>, half = g.group() / 2;
  for (int64_t j = 0; j < kBytePanelColumns; ++j)
    for (int64_t l = 0; l < g.group(); ++l) {
      int8_t level = 0;
      if (j / kTile < from.tiles) {
        const int64_t r = g.four_bits ? l % half : l;
        const uint8_t byte = from.bytes[j / kTile * from.tile_bytes + (r / deep * kTile + j % kTile) * deep + r % deep];
        level = static_cast<int8_t>(!g.four_bits ? byte : (l < half ? byte & 15 : byte >> 4) - 8);
      }
      to[weight_offset(g, j, l)] = level;
    }
}

inline void multiply(int32_t* sums, const int8_t* x, const int8_t* weights, const ByteLayout& g) {
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t i = 0; i < kByteTileRows; ++i)
      for (int64_t j = 0; j < kBytePanelColumns; ++j) {
        int32_t sum = 0;
        for (int64_t l = 0; l < g.group(); ++l)
          sum += int32_t{x[x_offset(g, a, i, l)]} * weights[weight_offset(g, j, l)];
        sums[((a * 2 + j / kByteTileRows) * kByteTileRows + i) * kByteTileRows + j % kByteTileRows] = sum;
      }
}

inline void add(const GroupSums& s, const ByteLayout& g) {
  auto sum_of = [&](int64_t a, int64_t i, int64_t j) {
    return s.sums[((a * 2 + j / kByteTileRows) * kByteTileRows + i) * kByteTileRows + j % kByteTileRows];
  };
  for (int64_t i = 0; i < g.panel_rows(); ++i)
    for (int64_t j = 0; j < s.columns; ++j) {
      const int64_t row = i % kByteTileRows;
      const int32_t sum = g.four_bits ? sum_of(i / kByteTileRows, row, j) : 256 * sum_of(0, row, j) + sum_of(1, row, j);
      float& to = s.totals[i * kBytePanelColumns + j];
      to = scalar::apply<scalar::Op::Fma>(static_cast<float>(sum) * s.steps[i], s.scales[j], to);
    }
}

}  // namespace sheaf::kernels::plain

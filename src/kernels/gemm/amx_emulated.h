// The micro-kernels of amx.h in plain C++, for any processor: same packed layout, same bits as the matrix unit.
// Included by amx.cpp.
#pragma once
#include "kernels/gemm/amx.h"

namespace sheaf::kernels {
namespace {

enum class Factor : uint8_t { A, B };

// The offset of an element in a packed panel: of row i of A, or column i of B.
int64_t packed_offset(Factor factor, int64_t i, int64_t l) {
  const int64_t tile = l / kAmxDepth * 2 + i / kAmxRows, row = i % kAmxRows, k = l % kAmxDepth;
  return tile * kAmxElements + (factor == Factor::A ? row * kAmxDepth + k : k / 2 * 2 * kAmxRows + 2 * row + k % 2);
}

template <Factor factor>
void pack_emulated(BFloat16* dst, const MatrixView<BFloat16>& src, int64_t i0, int64_t l0, int64_t used, int64_t k,
                   LineCursor&) {
  for (int64_t l = 0; l < round_up(k, kAmxDepth); ++l)
    for (int64_t i = 0; i < kAmxPanel; ++i)
      dst[packed_offset(factor, i, l)] = i < used && l < k ? *src.at(i0 + i, l0 + l) : BFloat16{};
}

template <int kRowTiles>
void multiply_emulated(int64_t steps, const BFloat16* a, const BFloat16* b, float* c, bool first) {
  for (int64_t i = 0; i < kRowTiles * kAmxRows; ++i)
    for (int64_t j = 0; j < kAmxPanel; ++j) {
      float& total = c[((i / kAmxRows * 2 + j / kAmxRows) * kAmxRows + i % kAmxRows) * kAmxRows + j % kAmxRows];
      if (first) total = 0;
      auto x = [&](int64_t l) { return a[packed_offset(Factor::A, i, l)]; };
      auto y = [&](int64_t l) { return b[packed_offset(Factor::B, j, l)]; };
      for (int64_t step = 0; step < steps; ++step) {
        scalar::Bf16TileSum group;
        for (int64_t l = step * kAmxDepth; l < (step + 1) * kAmxDepth; l += 2)
          group.add(x(l), y(l), x(l + 1), y(l + 1));
        total = group.added_to(total);
      }
    }
}

template <class Out>
void write_emulated(Out* to, int64_t apart, const float* sums, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t tile = j / kAmxPanel * 4 + r / kAmxRows * 2 + j % kAmxPanel / kAmxRows;
      to[r * apart + j] = scalar::convert<Out>(sums[(tile * kAmxRows + r % kAmxRows) * kAmxRows + j % kAmxRows]);
    }
}

constexpr AmxKernels kEmulatedAmxKernels{pack_emulated<Factor::A>,
                                         pack_emulated<Factor::B>,
                                         {multiply_emulated<1>, multiply_emulated<2>},
                                         {write_emulated<float>, write_emulated<BFloat16>}};

}  // namespace
}  // namespace sheaf::kernels

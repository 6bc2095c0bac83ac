// What the templates for attention by matrix units share: the sizes of tiles, and the functions for a type.
#pragma once
#include <array>
#include <string_view>

#include "codegen/gpu/unit_tiles.h"
#include "routines/attention/args.h"

namespace sheaf::codegen::gpu {

struct UnitHead {
  UnitHead(const routines::AttentionArgs<>& a, Helpers& helpers, bool aligned)
      : depth(padded(a.depth)),
        width(padded(a.width)),
        multiply(a.dtype == DType::BF16 ? "multiply_bf16" : "multiply_f16"),
        pack(a.dtype == DType::BF16 ? "pack_bf16" : "pack_f16"),
        aligned_(aligned) {
    helpers.matrix_units();
  }
  // Rows of an array of heads; `strides` by batch, head, row and element.
  UnitTile tile(int lines, int length, const std::array<int64_t, 4>& strides) const {
    return unit_tile(lines, length, strides[2], strides[3], {strides[0], strides[1]}, aligned_);
  }

  static constexpr std::string_view kLog2E = "1.4426950408889634f";
  static constexpr int kThreads = 128;

  int depth, width;  // of tiles
  std::string_view multiply, pack;

 private:
  static int padded(int64_t n) { return n <= 32 ? 32 : n <= 64 ? 64 : 128; }
  bool aligned_;
};

}  // namespace sheaf::codegen::gpu

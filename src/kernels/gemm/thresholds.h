// The crossover points between GEMM algorithms, for each kind of processor. Found with bench_gemm and --max-autotune,
// which prints the time of every algorithm: on a Neoverse-V1 and -N1 for vectors of 16 bytes, on a Zen 5 for those of
// 32 and 64. They affect only speed, never a bit.
#pragma once
#include <cstdint>

#include "runtime/target.h"

namespace sheaf::kernels {

struct GemmThresholds {
  // The most rows of the algorithms that are only for few rows.
  int64_t few_rows = 8;
  // The most rows for which B is streamed (read once, in place) instead of packed:
  int64_t stream_rows = 32;
  int64_t stream_rows_narrow = 64;   // of bf16 and f16, which packing would have to widen too
  int64_t stream_rows_packing = 16;  // if a tile can pack B while it computes: row stride of B not a multiple of 8 KiB
  int64_t stream_rows_near = 8;      // if B stays in L2
  int64_t near_elements = 1 << 18;   // the most elements of such a B

  // The most rows of a few-rows product by contiguous columns of B; narrow elements are widened again every four rows.
  int64_t transposed_rows = 8, transposed_rows_narrow = 4;

  // Columns of B read in place, A packed.
  int64_t unpacked_b_rows_least = 9, unpacked_b_rows_most = 192;
  // Columns at strides that are a multiple of this map to one set of L1, which holds four lines.
  int64_t same_set_bytes = 16 << 10;

  // Rows of A read in place, B packed.
  int64_t few_columns = 256;
  int64_t unpacked_a_columns_most = 256;
  int64_t unpacked_a_columns_most_transposed =
      256;                            // if columns of B are contiguous: B is packed once, not by each group
  int64_t unpacked_a_rows = 96;       // at least
  int64_t unpacked_a_rows_deep = 48;  // at least, if k is large, so that packing A would be slow
  int64_t deep_k = 256;

  // Packed GEMM: panels of a packed strip of B. The more, the less often A is read from beyond L2; a strip takes at
  // most 1 / strip_l2_parts of L2.
  int64_t strip_panels_least = 8, strip_panels_most = 8, strip_l2_parts = 4;

  // Transposed A read in place (column by column): the most elements of C, and bytes of the rows of C and of A.
  int64_t columns_result_most = INT64_MAX, outer_result_bytes_most = INT64_MAX, outer_a_bytes_most = INT64_MAX;

  // B read in place, or packed by each thread.
  int64_t small_elements = 6144;                          // of a B that fits in L1 with room to spare
  int64_t in_place_elements = 16384, in_place_bytes = 0;  // of a B that tiles read in place: the larger of both
};

inline constexpr GemmThresholds kGemm16{
    .unpacked_b_rows_least = 5,
    .strip_panels_most = 12,
    .strip_l2_parts = 3,  // a core has its cache to itself
};
inline constexpr GemmThresholds kGemm32{
    .stream_rows_near = 12,
    .unpacked_a_columns_most_transposed = 384,
    .in_place_elements = 0,
    .in_place_bytes = 192 << 10,  // tiles have enough rows that reading B from L2 is fast enough
};
inline constexpr GemmThresholds kGemm64{
    .stream_rows_packing = 13,  // one row less than a tile
    .stream_rows_near = 12,
    .unpacked_a_columns_most = 384,
    .unpacked_a_columns_most_transposed = 384,
    .strip_panels_least = 2,
    .strip_panels_most = INT64_MAX,
    .strip_l2_parts = 4,  // another thread may share the core and half of its cache
    .in_place_elements = 0,
    .in_place_bytes = 640 << 10,
};
// For processors where packing pays earlier (packs_transposed_early in runtime/target.h).
inline constexpr GemmThresholds kGemm64PacksEarly = [] {
  GemmThresholds limits = kGemm64;
  limits.columns_result_most = 1 << 17;
  limits.outer_result_bytes_most = 800;
  limits.outer_a_bytes_most = 2048;
  return limits;
}();

// Intel's servers that have a matrix unit: 14 to 48 rows by [768, 3072], [3072, 768], [1024, 4096], [2048, 2048] stream
// 1.05 to 1.5 times as fast as they are packed, 64 rows 0.8 to 1.1 times (--max-autotune, two threads).
inline constexpr GemmThresholds kGemm64Streams = [] {
  GemmThresholds limits = kGemm64PacksEarly;
  limits.stream_rows = limits.stream_rows_packing = 48;
  return limits;
}();

inline const GemmThresholds& gemm_thresholds(int64_t vector_bytes) {
  return vector_bytes <= 16                              ? kGemm16
         : vector_bytes <= 32                            ? kGemm32
         : runtime::host_target().amx                    ? kGemm64Streams
         : runtime::host_target().packs_transposed_early ? kGemm64PacksEarly
                                                         : kGemm64;
}

}  // namespace sheaf::kernels

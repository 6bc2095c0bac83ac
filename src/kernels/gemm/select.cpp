#include "kernels/gemm/select.h"

#include <algorithm>
#include <iterator>

#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using Problem = GemmProblem;
using routines::kContractBlock;

bool many_rows(const Problem& p) { return p.m > p.limits.few_rows; }

// The most elements of a B that tiles read in place.
int64_t in_place_elements(const Problem& p) {
  return std::max(p.limits.in_place_elements, p.limits.in_place_bytes / p.sum_bytes);
}

// Which algorithms are applicable.

bool small_works(const Problem& p) {
  return !p.narrow() && p.m > 1 && p.n * p.k <= std::max(4 * p.limits.small_elements, in_place_elements(p)) &&
         p.k <= kContractBlock && (p.a.k == 1 || p.a.minor == 1) && p.n >= p.lanes;
}
bool outer_works(const Problem& p) {
  return !p.narrow() && p.a.minor == 1 && p.b.minor == 1 && p.m >= 2 * p.tile_rows && p.n >= 2 * p.lanes;
}
bool stream_works(const Problem& p) { return p.b.minor == 1 && p.m <= p.limits.stream_rows_narrow; }
bool swapped_works(const Problem& p) {
  return !p.narrow() && p.n > p.limits.few_rows && p.m * p.n <= 4 * kPackedElements && p.a.minor == 1 && p.b.minor == 1;
}
bool shallow_works(const Problem& p) { return many_rows(p) && p.k <= kContractBlock && p.n * p.k <= kPackedElements; }
bool few_rows_transposed_works(const Problem& p) {
  return p.sum_bytes == sizeof(float) && p.b.k == 1 &&
         p.m <= (p.narrow() ? p.limits.transposed_rows_narrow : p.limits.transposed_rows);
}

constexpr GemmAlgorithmInfo kAlgorithms[] = {
    {"unpacked-a",
     [](const Problem& p) {
       return p.a.k == 1 && many_rows(p) && p.n <= 4 * p.limits.few_columns && p.n >= 2 * p.small_width;
     },
     true, true, true},
    {"small", small_works, true, true, true},
    {"stream", stream_works, false, false, false},
    {"unpacked-b", [](const Problem& p) { return p.b.k == 1 && p.m > 1 && p.m <= 2 * p.limits.unpacked_b_rows_most; },
     false, true, false},
    {"outer", outer_works, false, true, false},
    {"swapped", swapped_works, false, false, false},
    {"shallow", shallow_works, true, true, true},
    {"packed", many_rows, true, true, false},
    {"packed-2", many_rows, false, true, false},
    {"packed-3", many_rows, false, true, false},
    {"packed-4", many_rows, false, true, false},
    {"few-rows-transposed", few_rows_transposed_works, false, false, false},
    {"few-rows-packed", [](const Problem& p) { return !many_rows(p); }, false, false, false},
    {"bf16-dot", [](const Problem& p) { return p.bf16_dot && !p.bf16_tiles; }, true, true, false},
    {"amx", [](const Problem& p) { return p.bf16_tiles; }, true, true, false},
};

// Which applicable algorithm is the fastest.

// A B that is read in place must stay in the core's caches.
bool small_in_place(const Problem& p) {
  constexpr int64_t kRows = 256, kColumns = 64;  // of A, and of a transposed A with more k than that
  if (!small_works(p) || p.n * p.k > in_place_elements(p)) return false;
  if (p.a.k != 1 && p.m * p.n > p.limits.columns_result_most) return false;
  if (p.wide_vectors()) {
    // Each thread packs a transposed B, which takes microseconds up to some size if no panel has to be padded column by
    // column.
    constexpr int64_t kSoonPacked = 1 << 15, kPackedRows = 24;
    const bool soon = p.n * p.k <= kSoonPacked, many = p.m >= 2 * kColumns * runtime::num_threads();
    if (p.b.minor != 1) return many || (soon && p.m >= kPackedRows && (p.fills_vectors() || p.n <= kColumns));
    if (!p.fills_vectors()) return p.a.k == 1 ? many || soon : soon && many_rows(p) && !outer_works(p);
    return p.a.k == 1 || p.k <= 2 * kColumns || p.m <= kRows;
  }
  // A B that takes half of L1 is packed if A has many rows.
  const int64_t most = p.a.k != 1 && p.k > kColumns                 ? kColumns
                       : p.n * p.k > p.limits.in_place_elements / 2 ? p.limits.unpacked_a_rows
                                                                    : kRows;
  return p.b.minor == 1 && p.m <= most;
}

// Least rows for which A is read in place; fewer if packing it would take relatively long: few columns, or many k.
int64_t unpacked_a_rows(const Problem& p) {
  const GemmThresholds& limits = p.limits;
  if (p.wide_vectors())
    return p.n > limits.few_columns / 2                       ? 512
           : p.k >= limits.deep_k && p.n % (2 * p.lanes) == 0 ? limits.unpacked_a_rows_deep
                                                              : limits.unpacked_a_rows;
  const bool few_columns = p.n <= 64;
  if (p.b.minor == 1 && few_columns && p.n * p.k > limits.small_elements) return 32;
  return (few_columns && p.b.k == 1) || p.k >= limits.deep_k ? limits.unpacked_a_rows_deep : limits.unpacked_a_rows;
}
bool unpacked_a_pays(const Problem& p, int64_t least_rows) {
  // A B with contiguous columns is packed once, not by each group of rows.
  const int64_t most = p.b.k == 1 ? p.limits.unpacked_a_columns_most_transposed : p.limits.unpacked_a_columns_most;
  return p.a.k == 1 && p.m >= least_rows && p.n >= 2 * p.small_width && p.n <= most;
}

bool unpacked_b_pays(const Problem& p) {
  // Few rows pay if B is not small and its columns do not all map to one cache set.
  const bool some_rows = p.m >= p.limits.unpacked_b_rows_least && p.n * p.k > p.limits.small_elements &&
                         p.b.minor * p.element_bytes % p.limits.same_set_bytes != 0;
  if (!many_rows(p) && !some_rows) return false;
  // Rows are padded to tiles: the padding must be small if tiles are wide or elements have to be widened too.
  const bool cheap = !p.narrow() && !p.wide_vectors();
  return p.b.k == 1 && p.m <= p.limits.unpacked_b_rows_most && (cheap || 4 * p.m >= 3 * round_up(p.m, p.small_width));
}

// Rows at larger strides map to too few cache sets, the more so the larger k is. With wide vectors larger strides still
// pay if C is narrow or has few rows.
bool outer_pays(const Problem& p) {
  const int64_t apart = std::max(p.a.k, p.b.k) * p.sum_bytes;
  const bool one_block = p.k <= kContractBlock;
  const int64_t most = !p.wide_vectors()          ? (one_block ? 768 : 512)
                       : std::min(p.m, p.n) > 192 ? 1024
                       : one_block                ? 4096
                       : p.m > p.n                ? 2048
                                                  : 1024;
  return outer_works(p) && apart <= most && p.n * p.sum_bytes <= p.limits.outer_result_bytes_most &&
         p.m * p.sum_bytes <= p.limits.outer_a_bytes_most;
}

// A panel with a row stride of a multiple of 8 KiB maps to few sets of L2, so streaming pays for more rows. A B that
// stays in L2 is packed for fewer rows.
bool stream_pays(const Problem& p) {
  const bool packs_well = p.b.k * p.element_bytes % 8192 != 0, near = p.n * p.k <= p.limits.near_elements;
  const int64_t most = p.narrow()   ? p.limits.stream_rows_narrow
                       : near       ? p.limits.stream_rows_near
                       : packs_well ? p.limits.stream_rows_packing
                                    : p.limits.stream_rows;
  return stream_works(p) && p.m <= most;
}

struct Rule {
  GemmAlgorithm algorithm;
  bool (*applies)(const Problem&);
  std::string_view why;
};

// The first rule that applies decides.
constexpr Rule kRules[] = {
    {GemmAlgorithm::Amx, [](const Problem& p) { return p.bf16_tiles; }, "a matrix unit defines the result"},
    {GemmAlgorithm::Bf16Dot, [](const Problem& p) { return p.bf16_dot; },
     "bf16 dot-product instructions define the result"},
    {GemmAlgorithm::FewRowsTransposed, [](const Problem& p) { return p.m == 1 && few_rows_transposed_works(p); },
     "one row by contiguous columns of B"},
    {GemmAlgorithm::Small, small_in_place, "B stays in a cache near the core and is read in place"},
    {GemmAlgorithm::UnpackedA, [](const Problem& p) { return !p.narrow() && unpacked_a_pays(p, unpacked_a_rows(p)); },
     "many rows by few columns: A is read in place"},
    {GemmAlgorithm::Outer, outer_pays, "rows of both factors are contiguous and near each other: nothing is packed"},
    {GemmAlgorithm::Small,
     [](const Problem& p) { return small_works(p) && p.n * p.k <= p.limits.small_elements && !unpacked_b_pays(p); },
     "B is small: each thread packs it"},
    {GemmAlgorithm::UnpackedA,
     [](const Problem& p) {
       return p.narrow() && p.n <= p.limits.few_columns / 2 && unpacked_a_pays(p, p.limits.unpacked_a_rows);
     },
     "many rows by few columns: A is read in place and widened"},
    {GemmAlgorithm::UnpackedB, unpacked_b_pays, "some rows by contiguous columns: B is read in place"},
    {GemmAlgorithm::Stream, stream_pays, "few rows: B streams past their sums"},
    {GemmAlgorithm::Shallow,
     [](const Problem& p) { return shallow_works(p) && is_shallow(p.m, p.n, p.k, p.sum_bytes, p.sum_bytes); },
     "few k: all of B is packed, and C is written row by row"},
    {GemmAlgorithm::Swapped,
     [](const Problem& p) {
       return p.m > p.n && p.n <= p.limits.few_columns && p.k >= p.limits.deep_k && swapped_works(p);
     },
     "few columns: the wide factor is better packed by tiles, so the transposed product is computed"},
    {GemmAlgorithm::Packed, many_rows, "many rows: both factors are packed"},
    {GemmAlgorithm::FewRowsTransposed, few_rows_transposed_works, "few rows by contiguous columns of B"},
    {GemmAlgorithm::FewRowsPacked, [](const Problem&) { return true; }, "few rows by a B in any order"},
};

}  // namespace

std::span<const GemmAlgorithmInfo> gemm_algorithms() { return kAlgorithms; }

GemmChoice choose(const GemmProblem& p) {
#pragma GCC unroll 16
  for (const Rule& rule : kRules)
    if (rule.applies(p)) return {rule.algorithm, rule.why};
  return {GemmAlgorithm::FewRowsPacked, {}};
}

bool is_shallow(int64_t m, int64_t n, int64_t k, int64_t packed_bytes, int64_t result_bytes) {
  constexpr int64_t kLeastRows = 64;  // for each thread (bench_gemm)
  const int64_t l2 = runtime::host_target().l2_bytes;
  return k <= kContractBlock && m >= kLeastRows * runtime::num_threads() && n * k * packed_bytes <= l2 / 4 * 3 &&
         m * n * result_bytes >= l2;
}

}  // namespace sheaf::kernels

// Weights are read once, in their stored layout, in strips of columns: some groups of rows of a strip at a time, for
// all rows of x.
// 1. Each group of x is quantized to integers, stored as separate bytes and as 16-bit numbers.
// 2. A group's sums for a column are exact in 32 bits; instructions multiply bytes (neon.h) or 16-bit numbers (avx.h).
// 3. They are scaled and added to the row of the result.
#include "kernels/quantized/quantized.h"

#if defined(__aarch64__)
#include "kernels/quantized/neon.h"
#elif defined(__x86_64__)
#include "kernels/quantized/avx.h"
#endif

#include "kernels/quantized/groups.h"
#include "kernels/tasks.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kMaxGroup = 512;   // rows, so that sums fit in 32 bits
constexpr int64_t kMaxDots = 128;    // rows, so that sums of bytes stay below 2^22
constexpr int64_t kMaxStrip = 4096;  // columns whose sums of a row stay in L1
constexpr int64_t kTaskElements = 1 << 18;

using AddGroups = void (*)(const QuantizedRows& rows, const Groups& g);

template <bool kFourBits>
AddGroups kernel_for(int64_t deep, int64_t group, [[maybe_unused]] int64_t rows) {
  [[maybe_unused]] const bool fits = deep == kDeep<kFourBits> && group <= kMaxDots;
#if defined(__aarch64__)
  if (fits && neon::has_dots())
    return kFourBits              ? neon::add_dots<neon::By::Nibbles>
           : neon::has_matrices() ? neon::add_dots<neon::By::Matrices>
                                  : neon::add_dots<neon::By::Bytes>;
#elif defined(__x86_64__)
  if (fits && avx::has_dots())
    return avx::has_wide_dots(kFourBits, rows) ? avx::add_wide_dots<kFourBits> : avx::add_dots<kFourBits>;
#endif
  return [](const QuantizedRows& rows, const Groups& g) { add_groups<kFourBits>(rows, g, 0); };
}

// The rows of x, quantized: for each row and group the address of its bytes, and its step.
class Counted {
 public:
  Counted(const float* x, const routines::QuantizedArgs<>& g) : groups_(g.groups) {
    int64_t size = g.group_size(), k = g.groups * size, all = g.m * k;
    constexpr int64_t kVector = 16;  // bytes read at once, possibly past the end
    int8_t* bytes = scratch<int8_t>(0, 2 * all + kVector);
    int16_t* whole = scratch<int16_t>(0, all);
    counts_ = scratch<Counts>(0, g.m * g.groups);
    float* row = scratch<float>(0, size);
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t q = 0; q < g.groups; ++q) {
        const float* from = x + i * g.x.row + q * size * g.x.k;
        if (g.x.k != 1) {
          for (int64_t l = 0; l < size; ++l)
            row[l] = from[l * g.x.k];
          from = row;
        }
        int64_t at = i * k + q * size;
        counts_[i * groups_ + q] = count(from, size, g.four_bits, bytes + 2 * at, whole + at);
      }
  }
  QuantizedRows rows(int64_t group, int64_t m, float* sums, int64_t ld) const {
    return {counts_ + group, groups_, m, sums, ld};
  }

 private:
  static Counts count(const float* x, int64_t size, bool four_bits, int8_t* __restrict bytes,
                      int16_t* __restrict whole) {
    uint32_t largest = 0;
    for (int64_t l = 0; l < size; ++l)
      largest = std::max(largest, std::bit_cast<uint32_t>(x[l]) & 0x7fffffffu);
    routines::QuantizedStep step(largest, four_bits);
    if (step.step == step.step)
      for (int64_t l = 0; l < size; ++l)
        whole[l] = static_cast<int16_t>(step.count(x[l]));
    else
      std::fill_n(whole, size, int16_t{0});
    // Separate loops, so that compilers vectorize them.
    int32_t sum = 0;
    if (four_bits) {
      for (int64_t l = 0; l < size; ++l)
        bytes[l] = static_cast<int8_t>(whole[l]);
      for (int64_t l = 0; l < size; ++l)
        sum += whole[l];
    } else {
      constexpr int64_t kEight = kDeep<false>;
      for (int64_t l = 0; l + kEight <= size; l += kEight) {
        for (int64_t e = 0; e < kEight; ++e)
          bytes[2 * l + e] = static_cast<int8_t>(routines::high_byte(whole[l + e]));
        for (int64_t e = 0; e < kEight; ++e)
          bytes[2 * l + kEight + e] = static_cast<int8_t>(whole[l + e]);
      }
    }
    return {bytes, whole, -8 * sum, step.step};
  }

  int64_t groups_;
  Counts* counts_;
};

void multiply(const float* x, const uint8_t* values, const float* scales, float* out,
              const routines::QuantizedArgs<>& g) {
  Counted counted(x, g);
  AddGroups kernel = g.four_bits ? kernel_for<true>(g.deep, g.group_size(), g.rows)
                                 : kernel_for<false>(g.deep, g.group_size(), g.rows);
  // Groups are far apart in memory: a core that follows several streams gets more bandwidth from several groups at a
  // time, and their sums are loaded and stored less often.
  const int64_t together = runtime::host_target().reads_one_stream_best ? 1 : 4;
  const int64_t width = strip_width(g.n, kMaxStrip, 16);
  runtime::parallel_for(
      pieces(g.n, width),
      [&](int64_t begin, int64_t end) {
        for (int64_t strip = begin; strip < end; ++strip) {
          int64_t j = strip * width, columns = std::min(width, g.n - j);
          for (int64_t i = 0; i < g.m; ++i)
            std::fill_n(out + i * g.n + j, columns, 0.0f);
          for (int64_t q = 0; q < g.groups; q += together)
            kernel(counted.rows(q, g.m, out + j, g.n),
                   {values + q * g.values.group + j / kTile * g.values.tile, scales + q * g.scales.group + j,
                    g.values.group, g.scales.group, std::min(together, g.groups - q), g.rows, g.deep, columns,
                    q + together >= g.groups});
        }
      },
      std::max<int64_t>(1, kTaskElements / (g.m * width * g.groups * g.group_size() + 1)));
}

// Least rows of x for which packing the weights pays: a full tile of the matrix unit (an estimate); with vectors and
// 4 bits, nearly a panel of 32 rows (bench_quantized on a Cascade Lake: 16 rows 5.4 ms packed, 3.6 as stored; 32 rows
// 5.8 and 7.4).
int64_t least_tile_rows(bool four_bits) { return four_bits && !runtime::host_target().amx_int8 ? 24 : 16; }

}  // namespace

bool is_stored_in_order(const routines::QuantizedArgs<>& g) {
  auto is = [](int64_t size, int64_t stride, int64_t wanted) { return size <= 1 || stride == wanted; };
  return g.dtype == DType::F32 && g.group_size() <= kMaxGroup && is(g.deep, g.values.deep, 1) &&
         g.values.column == g.deep && is(g.rows, g.values.row, kTile * g.deep) &&
         is(pieces(g.n, kTile), g.values.tile, g.rows * kTile * g.deep) && is(g.n, g.scales.column, 1);
}

void contract_quantized(const routines::RoutineCall& call, const routines::QuantizedArgs<>& g) {
  if (!is_stored_in_order(g)) return routines::contract_quantized(call, g);
  if (runtime::host_target().multiplies_bytes() && g.m >= least_tile_rows(g.four_bits) && has_byte_tiles(g))
    return contract_quantized_tiles(call, g);
  contract_quantized_dots(call, g);
}

void contract_quantized_dots(const routines::RoutineCall& call, const routines::QuantizedArgs<>& g) {
  if (g.m <= 0 || g.n <= 0) return;
  for (int64_t p = 0; p < g.batch; ++p)
    multiply(call.buffer<const float>(0) + p * g.x.batch, call.buffer<const uint8_t>(1) + p * g.values.batch,
             call.buffer<const float>(2) + p * g.scales.batch, call.buffer<float>(3) + p * g.m * g.n, g);
}

}  // namespace sheaf::kernels

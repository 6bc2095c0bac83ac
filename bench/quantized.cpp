// Products with weights of 8 and 4 bits over rows of x: by each algorithm, compared with the product by the widened
// weights, in f32 and in bf16. Usage: bench_quantized [--threads N] [--ms N] [TEXT…]: shapes whose line contains one of
// the texts, or all; N milliseconds for each of three rounds (50). Answers are compared with the definition
// (routines/quantized/args.h), bit for bit on a sample, before they are timed; medians of several rounds in which the
// algorithms alternate. For few rows, weights cycle through enough copies that no cache holds them.
#include "kernels/quantized/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"
#include "kernels/simd/peak.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"
#include "tensor/buffer.h"

using namespace sheaf;

namespace {

constexpr int64_t kColdBytes = 256 << 20;
constexpr int64_t kColdRows = 32;  // up to this many rows weights come from memory
constexpr int64_t kGroup = 32;

struct Shape {
  bool four_bits;
  int64_t m, n, k;
};

std::vector<Shape> shapes() {
  std::vector<Shape> out;
  for (bool four_bits : {false, true})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{2304, 768}, {768, 3072}, {4096, 4096}, {11008, 4096}})
      for (int64_t m : {1, 2, 4, 8, 12, 16, 32, 64, 128, 512, 2048})
        out.push_back({four_bits, m, n, k});
  return out;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  return times[times.size() / 2];
}

Ref<Buffer> bytes(int64_t count) { return Buffer::allocate(static_cast<size_t>(count)); }

class Case {
 public:
  explicit Case(const Shape& s) : s_(s) {
    const int64_t deep = s.four_bits ? 4 : 8, rows = kGroup / (s.four_bits ? 2 : 1) / deep, groups = s.k / kGroup,
                  tile = rows * 4 * deep, tiles = s.n / 4;
    args_ = {.dtype = DType::F32,
             .four_bits = s.four_bits,
             .batch = 1,
             .m = s.m,
             .n = s.n,
             .groups = groups,
             .rows = rows,
             .deep = deep,
             .x = {s.m * s.k, s.k, 1},
             .values = {groups * tiles * tile, tiles * tile, tile, 4 * deep, deep, 1},
             .scales = {groups * s.n, s.n, 1}};
    weight_bytes_ = groups * tiles * tile;
    copies_ = s.m <= kColdRows ? std::max<int64_t>(1, kColdBytes / weight_bytes_) : 1;
    x_ = bytes(4 * s.m * s.k), scales_ = bytes(4 * groups * s.n), out_ = bytes(4 * s.m * s.n);
    values_ = bytes(weight_bytes_ * copies_);
    wide_[0] = bytes(4 * s.k * s.n), wide_[1] = bytes(2 * s.k * s.n), narrow_x_ = bytes(2 * s.m * s.k);
    std::mt19937 rng(1);
    auto number = [&] { return static_cast<float>(rng() >> 8) / 8388608.0f - 1.0f; };
    fill<float>(x_, s.m * s.k, number);
    fill<float>(scales_, groups * s.n, [&] { return 0.01f * number(); });
    fill<uint8_t>(values_, weight_bytes_ * copies_, [&] { return static_cast<uint8_t>(rng()); });
    fill<float>(wide_[0], s.k * s.n, number);
    fill<scalar::BFloat16>(wide_[1], s.k * s.n, [&] { return scalar::to_bf16(number()); });
    fill<scalar::BFloat16>(narrow_x_, s.m * s.k, [&] { return scalar::to_bf16(number()); });
  }

  bool has_tiles() const { return runtime::host_target().multiplies_bytes() && kernels::has_byte_tiles(args_); }
  void dots() { kernels::contract_quantized_dots({next()}, args_); }
  void tiles() { kernels::contract_quantized_tiles({next()}, args_); }
  void floats(DType dtype) {
    const bool is_narrow = dtype == DType::BF16;
    std::byte* p[] = {(is_narrow ? narrow_x_ : x_)->host_mut(), wide_[is_narrow]->host_mut(), out_->host_mut()};
    kernels::contract({p, kernels::arithmetic_of(runtime::host_target())}, {.dtype = dtype,
                                                                            .batch = 1,
                                                                            .m = s_.m,
                                                                            .n = s_.n,
                                                                            .k = s_.k,
                                                                            .a = {s_.m * s_.k, s_.k, 1},
                                                                            .b = {s_.k * s_.n, s_.n, 1},
                                                                            .result = DType::F32});
  }

  // After a run: some columns of the first and the last row.
  bool is_right() {
    constexpr int64_t kColumns = 8;
    float expected[kColumns];
    routines::QuantizedArgs<> one = args_;
    one.m = 1, one.n = kColumns;
    for (int64_t row : {int64_t{0}, s_.m - 1})
      for (int64_t column : {int64_t{0}, s_.n / 2 / 4 * 4, s_.n - kColumns}) {
        std::byte* p[] = {x_->host_mut() + 4 * row * s_.k, last_ + column / 4 * args_.values.tile,
                          scales_->host_mut() + 4 * column, reinterpret_cast<std::byte*>(expected)};
        routines::contract_quantized({p}, one);
        if (std::memcmp(expected, out_->host_mut() + 4 * (row * s_.n + column), sizeof expected) != 0) return false;
      }
    return true;
  }
  double giga_weights() const { return static_cast<double>(weight_bytes_) * 1e-9; }

 private:
  template <class T, class F>
  static void fill(const Ref<Buffer>& b, int64_t count, F make) {
    auto* p = reinterpret_cast<T*>(b->host_mut());
    const int64_t random = std::min<int64_t>(count, 1 << 20);  // the rest repeats them
    for (int64_t i = 0; i < random; ++i)
      p[i] = make();
    for (int64_t i = random; i < count; ++i)
      p[i] = p[i - random];
  }
  std::span<std::byte* const> next() {
    last_ = values_->host_mut() + turn_++ % copies_ * weight_bytes_;
    buffers_ = {x_->host_mut(), last_, scales_->host_mut(), out_->host_mut()};
    return buffers_;
  }

  Shape s_;
  routines::QuantizedArgs<> args_;
  int64_t weight_bytes_, copies_, turn_ = 0;
  Ref<Buffer> x_, values_, scales_, out_, wide_[2], narrow_x_;
  std::byte* last_ = nullptr;
  std::array<std::byte*, 4> buffers_;
};

// The peak of one core: a panel that stays in L1.
void print_rates() {
  for (bool four_bits : {false, true}) {
    const kernels::ByteLayout layout{four_bits, kGroup, 1};
    const kernels::ByteTileKernels& kern = kernels::byte_tile_kernels();
    alignas(64) int8_t x[2 * 16 * kGroup] = {}, w[2 * 16 * kGroup] = {};
    alignas(64) float totals[32 * 32] = {}, steps[32] = {}, scales[32] = {};
    const int64_t macs = layout.panel_rows() * kernels::kBytePanelColumns * kGroup;
    constexpr int64_t kRuns = 20000;
    double best = 1e30;
    for (int round = 0; round < 5; ++round) {
      const double start = now_ms();
      for (int64_t i = 0; i < kRuns; ++i)
        kern.add_groups({x, steps, w, scales, 0, 1, kernels::kBytePanelColumns, totals}, layout);
      best = std::min(best, now_ms() - start);
    }
    fmt::print("{} tiles of one core, groups of {}: {:.0f} GOP/s\n", four_bits ? "q4" : "q8", kGroup,
               static_cast<double>(2 * macs * kRuns) / best * 1e-6);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted;
  double round_ms = 50;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--threads" && i + 1 < argc)
      runtime::set_num_threads(std::atoi(argv[++i]));
    else if (std::string(argv[i]) == "--ms" && i + 1 < argc)
      round_ms = std::atof(argv[++i]);
    else
      wanted.push_back(argv[i]);
  }
  const int threads = runtime::num_threads();
  const kernels::Peak peak = kernels::measure_peak(threads);
  fmt::print("{} threads: {:.1f} GFLOP/s of f32, reads {:.1f} GB/s; matrix unit for bytes: {}\n", threads, peak.gflops,
             peak.read_gbs, runtime::host_target().amx_int8 ? "yes" : "no");
  if (runtime::host_target().multiplies_bytes()) print_rates();
  fmt::print("{:<24} {:>9} {:>7} {:>9} {:>7} {:>9} {:>9}\n", "m x n x k", "dots ms", "% read", "tiles ms", "TOP/s",
             "f32 ms", "bf16 ms");
  for (const Shape& s : shapes()) {
    const std::string line = fmt::format("{} {}x{}x{}", s.four_bits ? "q4" : "q8", s.m, s.n, s.k);
    if (!wanted.empty() &&
        std::none_of(wanted.begin(), wanted.end(), [&](auto& w) { return line.find(w) != std::string::npos; }))
      continue;
    Case c(s);
    std::vector<std::function<void()>> ways = {[&] { c.dots(); }, [&] { c.floats(DType::F32); },
                                               [&] { c.floats(DType::BF16); }};
    if (c.has_tiles()) ways.push_back([&] { c.tiles(); });
    std::vector<std::vector<double>> times(ways.size());
    for (size_t w = 0; w < ways.size(); ++w) {
      ways[w]();
      if (w != 1 && w != 2 && !c.is_right()) {
        fmt::print("{}: wrong result\n", line);
        return 1;
      }
    }
    for (int round = 0; round < 3; ++round)
      for (size_t w = 0; w < ways.size(); ++w) {
        const double end = now_ms() + round_ms;
        for (int runs = 0; runs < 3 || now_ms() < end; ++runs) {
          const double start = now_ms();
          ways[w]();
          times[w].push_back(now_ms() - start);
        }
      }
    std::vector<double> ms;
    for (auto& t : times)
      ms.push_back(median(t));
    const double ops = 2.0 * static_cast<double>(s.m * s.n * s.k);
    fmt::print("{:<24} {:>9.4f} {:>7.1f} {:>9} {:>7} {:>9.4f} {:>9.4f}\n", line, ms[0],
               100 * c.giga_weights() / (ms[0] * 1e-3) / peak.read_gbs,
               c.has_tiles() ? fmt::format("{:.4f}", ms[3]) : "-",
               c.has_tiles() ? fmt::format("{:.2f}", ops / ms[3] * 1e-9) : "-", ms[1], ms[2]);
  }
}

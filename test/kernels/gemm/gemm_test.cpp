// The fast contraction against the definition in routines/gemm/contract.cpp, bit for bit.
#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/gemm/autotune.h"
#include "kernels/kernels.h"
#include "kernels/random_data.h"
#include "routines/gemm/args.h"
#include "runtime/fusion.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

using routines::GemmArgs;
using testing::bytes;
using testing::fill;

struct Shape3 {
  int64_t batch, m, n, k;
};

using Product = void (*)(const routines::RoutineCall&, const GemmArgs<>&);

// One product of contiguous matrices, each of which may be transposed.
GemmArgs<> f32_args(Shape3 s, bool ta, bool tb) {
  return {.dtype = DType::F32,
          .batch = 1,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .a = {0, ta ? 1 : s.k, ta ? s.m : 1},
          .b = {0, tb ? 1 : s.n, tb ? s.k : 1},
          .result = DType::F32};
}

// All algorithms except those by dot-product instructions, whose results have another definition.
std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < static_cast<size_t>(GemmAlgorithm::Bf16Dot); ++i)
    out.push_back(gemm_algorithms()[i].name);
  return out;
}

// Runs a product with a prologue and an epilogue: the epilogue must see each element once, when it has its final value.
// Rows of A exist only after the product requests them, each exactly once; rows that it does not read again are in a
// buffer of the thread.
template <class T>
std::vector<T> told_in_parts(const runtime::FusedProduct& form, const std::vector<T>& a, std::byte* b, Shape3 s,
                             int64_t sam, int64_t sak) {
  const T kNone = scalar::convert<T>(std::numeric_limits<double>::quiet_NaN());
  std::vector<T> c(s.m * s.n), told(s.m * s.n), rows(a.size(), kNone);
  std::vector<uint8_t> times(s.m * s.n), asked(s.m);
  std::byte* p[] = {reinterpret_cast<std::byte*>(rows.data()), b, reinterpret_cast<std::byte*>(c.data())};
  auto take = [&](const runtime::Tile& part) {
    for (int64_t i = part.row; i < part.row + part.rows; ++i)
      for (int64_t j = part.column; j < part.column + part.columns; ++j)
        told[i * s.n + j] = c[i * s.n + j], ++times[i * s.n + j];
  };
  auto make = [&](int64_t row, int64_t count, bool again) {
    static thread_local std::vector<T> near;
    near.resize(a.size(), kNone);
    std::vector<T>& to = again ? rows : near;
    for (int64_t i = row; i < row + count; ++asked[i++])
      for (int64_t l = 0; l < s.k; ++l)
        to[i * sam + l * sak] = a[i * sam + l * sak];
    return reinterpret_cast<const std::byte*>(to.data() + row * sam);
  };
  const runtime::EpilogueFn done(take);
  const runtime::PrologueFn wanted(make);
  form.run(p, {&wanted, &done});
  auto once = [](const std::vector<uint8_t>& v) {
    return std::all_of(v.begin(), v.end(), [](uint8_t t) { return t == 1; });
  };
  EXPECT_TRUE(once(times) && (s.k == 0 || once(asked))) << "m " << s.m << " n " << s.n << " k " << s.k;
  return told;
}

template <class T>
void expect_same(DType dtype, Shape3 s, bool ta, bool tb, int64_t step, uint64_t seed,
                 const runtime::Target& target = runtime::host_target()) {
  std::mt19937_64 rng(seed);
  using Out = std::conditional_t<std::is_same_v<T, int8_t>, int32_t, T>;
  bool shared = s.batch > 1 && rng() % 3 == 0;  // one B for the whole batch
  std::vector<T> a(s.batch * s.m * s.k * step + 1), b(s.batch * s.k * s.n * step + 1);
  fill(a, rng);
  fill(b, rng);
  std::vector<Out> expected(s.batch * s.m * s.n), actual(s.batch * s.m * s.n);
  int64_t sam = ta ? step : s.k * step, sak = ta ? s.m * step : step;
  int64_t sbk = tb ? step : s.n * step, sbn = tb ? s.k * step : step;
  const GemmArgs<> args{.dtype = dtype,
                        .batch = s.batch,
                        .m = s.m,
                        .n = s.n,
                        .k = s.k,
                        .a = {s.m * s.k * step, sam, sak},
                        .b = {shared ? 0 : s.k * s.n * step, sbk, sbn},
                        .result = dtype};
  auto run = [&](Product product, std::vector<Out>& c, int64_t line = 0) {
    std::byte* p[] = {bytes(a), bytes(b), bytes(c)};
    GemmArgs<> in_lines = args;
    in_lines.line = line;
    product({p, arithmetic_of(target)}, in_lines);
  };
  run(routines::contract, expected);
  run(contract, actual);
  auto compare = [&](const std::vector<Out>& actual, const char* what) {
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(std::memcmp(&expected[i], &actual[i], sizeof(Out)), 0)
          << what << sheaf::name_of(dtype) << " batch " << s.batch << " m " << s.m << " n " << s.n << " k " << s.k
          << " ta " << ta << " tb " << tb << " step " << step << " seed " << seed << " element " << i;
  };
  compare(actual, "");
  if (dtype != DType::I8 && seed % 4 == 0)
    for (Product product : {routines::contract, contract}) {
      const int64_t line = s.n + 3, rows = s.batch * s.m;
      std::vector<Out> apart(rows * line);
      run(product, apart, line);
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(apart.begin() + i * line, s.n, actual.begin() + i * s.n);
      compare(actual, "rows apart ");
    }
  if (auto form = s.batch == 1 && s.m > 0 && s.n > 0 ? fused_product(args, target) : nullptr)
    if constexpr (!std::is_integral_v<T>) compare(told_in_parts<T>(*form, a, bytes(b), s, sam, sak), "in parts ");
}

void all_floats(Shape3 s, bool ta, bool tb, int64_t step, uint64_t seed) {
  expect_same<float>(DType::F32, s, ta, tb, step, seed);
  expect_same<double>(DType::F64, s, ta, tb, step, seed);
  expect_same<scalar::BFloat16>(DType::BF16, s, ta, tb, step, seed);
  expect_same<scalar::Float16>(DType::F16, s, ta, tb, step, seed);
  // The other definitions of a product of bf16. A matrix unit is emulated where there is none, which takes long.
  constexpr int64_t kEmulated = 1 << 18;
  const runtime::Target host = runtime::host_target();
  for (bool dot : {false, true})
    for (bool amx : {false, true}) {
      runtime::Target other = host;
      other.bf16_dot = dot, other.amx = amx;
      if ((dot && !host.bf16_dot) || (dot == host.bf16_dot && amx == host.amx) ||
          (amx && !host.amx && s.batch * s.m * s.n * s.k > kEmulated))
        continue;
      expect_same<scalar::BFloat16>(DType::BF16, s, ta, tb, step, seed, other);
    }
}

void all_types(Shape3 s, bool ta, bool tb, int64_t step, uint64_t seed) {
  all_floats(s, ta, tb, step, seed);
  expect_same<int32_t>(DType::I32, s, ta, tb, step, seed);
  expect_same<int64_t>(DType::I64, s, ta, tb, step, seed);
  expect_same<uint32_t>(DType::U32, s, ta, tb, step, seed);
  expect_same<int8_t>(DType::I8, s, ta, tb, step, seed);
}

TEST(Contract, EqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 24, 25, 31, 40, 63, 97, 130};
  auto pick = [&] { return sizes[rng() % std::size(sizes)]; };
  for (int trial = 0; trial < 150; ++trial) {
    runtime::set_num_threads(1 + trial % 3);
    Shape3 s{1 + static_cast<int64_t>(rng() % 3), pick(), pick(), pick()};
    if (trial % 10 == 0) s.k = 500 + static_cast<int64_t>(rng() % 700);
    if (trial % 10 == 0) s.m = std::min<int64_t>(s.m, 20), s.batch = 1;
    if (trial % 17 == 0) s.n = 1;
    if (trial % 19 == 0) s.m = 1;
    all_types(s, rng() % 2, rng() % 2, rng() % 5 == 0 ? 2 : 1, seed + trial);
    if (HasFatalFailure()) return;
  }
}

runtime::Target with_matrix_unit() {
  runtime::Target target = runtime::host_target();
  target.amx = true;
  return target;
}

// Several chunks and blocks of k, strips and groups, panels of more and fewer than 16 rows, odd edges.
TEST(Contract, MatrixUnit) {
  uint64_t seed = 40;
  for (int threads : {1, 2, 8}) {
    runtime::set_num_threads(threads);
    for (Shape3 s : {Shape3{1, 70, 100, 1100}, {1, 17, 300, 65}, {1, 2, 33, 2100}, {1, 130, 31, 33}, {1, 48, 600, 31}})
      for (int form = 0; form < 4; ++form)
        expect_same<scalar::BFloat16>(DType::BF16, s, form % 2, form / 2, 1, ++seed, with_matrix_unit());
  }
  runtime::set_num_threads(2);
}

// Any bits, including NaN, infinities and subnormal numbers, and unrounded results.
void expect_same_of_any_bits(const runtime::Target& target) {
  std::mt19937_64 rng(11);
  for (Shape3 s : {Shape3{1, 2, 2, 4}, Shape3{2, 3, 5, 2}, Shape3{1, 9, 13, 7}, Shape3{1, 2, 3, 600},
                   Shape3{1, 1, 4, 9}, Shape3{1, 2, 2, 0}})
    for (int trial = 0; trial < 200; ++trial) {
      int exponents = trial % 4 == 0 ? 256 : 24, lowest = trial % 4 == 0   ? 0
                                                          : trial % 4 == 1 ? 50
                                                          : trial % 4 == 2 ? 115
                                                                           : 180;
      auto any = [&](std::vector<scalar::BFloat16>& v) {
        for (auto& x : v)
          x.bits = static_cast<uint16_t>((rng() & 0x807f) | (lowest + rng() % exponents) << 7);
      };
      std::vector<scalar::BFloat16> a(s.batch * s.m * s.k), b(s.batch * s.k * s.n);
      any(a), any(b);
      std::vector<float> expected(s.batch * s.m * s.n, -1), actual(expected);
      const GemmArgs<> args{.dtype = DType::BF16,
                            .batch = s.batch,
                            .m = s.m,
                            .n = s.n,
                            .k = s.k,
                            .a = {s.m * s.k, s.k, 1},
                            .b = {s.k * s.n, s.n, 1},
                            .result = DType::F32};
      auto run = [&](Product product, std::vector<float>& c) {
        std::byte* p[] = {bytes(a), bytes(b), bytes(c)};
        product({p, arithmetic_of(target)}, args);
      };
      run(routines::contract, expected);
      run(contract, actual);
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(std::isnan(expected[i])
                        ? std::isnan(actual[i])
                        : std::bit_cast<uint32_t>(expected[i]) == std::bit_cast<uint32_t>(actual[i]))
            << s.m << " x " << s.n << " x " << s.k << " trial " << trial << ": " << expected[i] << " and " << actual[i];
    }
}

TEST(Contract, BF16OfAnyBitsToF32) { expect_same_of_any_bits(runtime::host_target()); }
TEST(Contract, MatrixUnitOfAnyBitsToF32) { expect_same_of_any_bits(with_matrix_unit()); }

TEST(Contract, EmptyAndLarge) {
  runtime::set_num_threads(2);
  for (Shape3 s : {Shape3{1, 0, 3, 4}, Shape3{1, 3, 0, 4}, Shape3{2, 3, 5, 0}, Shape3{0, 1, 1, 1}})
    all_types(s, false, false, 1, 1);
  expect_same<float>(DType::F32, {1, 141, 400, 520}, false, false, 1, 2);
  expect_same<float>(DType::F32, {1, 141, 400, 520}, true, true, 1, 3);
  expect_same<double>(DType::F64, {1, 141, 400, 520}, false, true, 1, 4);
  // More rows and k than are packed at a time.
  expect_same<float>(DType::F32, {1, 2300, 30, 1100}, false, false, 1, 6);
  expect_same<float>(DType::F32, {1, 2300, 17, 1100}, true, true, 1, 7);
  expect_same<float>(DType::F32, {1, 41, 23, 26000}, false, true, 1, 8);
  expect_same<scalar::BFloat16>(DType::BF16, {2, 9, 400, 1100}, false, true, 1, 5);
}

// Few k and a result larger than L2, with odd edges; by matrix instructions too, if there are any.
TEST(Contract, FewTermsManyResults) {
  runtime::set_num_threads(2);
  const Shape3 s{1, 803, 709, 13};
  for (bool ta : {false, true}) {
    expect_same<float>(DType::F32, s, ta, !ta, 1, 20 + ta);
    expect_same<double>(DType::F64, s, ta, ta, 1, 22 + ta);
    expect_same<scalar::BFloat16>(DType::BF16, s, ta, ta, 1, 24 + ta);
    expect_same<scalar::Float16>(DType::F16, s, ta, !ta, 1, 26 + ta);
  }
}

// A wide strip for each thread, and rows 4, 8 and 16 KiB apart, which a tile copies for others or which are copied
// before.
TEST(Contract, WideStripsAndCrowdedRows) {
  runtime::set_num_threads(2);
  expect_same<float>(DType::F32, {1, 61, 905, 700}, false, false, 1, 30);
  expect_same<float>(DType::F32, {1, 37, 1208, 1030}, true, false, 1, 31);
  for (int64_t k : {1024, 2048, 4096})
    for (int64_t m : {9, 33})
      expect_same<float>(DType::F32, {1, m, 45, k}, false, true, 1, k + m);
}

// Many threads each pack their own rows, including those of tasks that they take over from others.
TEST(Contract, ManyThreads) {
  const uint64_t seed = std::random_device{}();
  int trial = 0;
  for (Shape3 s : {Shape3{1, 300, 1500, 40}, {1, 129, 2100, 70}, {1, 60, 1100, 520}, {1, 40, 6000, 30}})
    for (int threads : {4, 5, 9}) {
      runtime::set_num_threads(threads);
      if (trial % 4 == 0)
        all_floats(s, trial % 2, trial / 2 % 2, 1, seed + trial);
      else
        expect_same<float>(DType::F32, s, trial % 2, trial / 2 % 2, 1, seed + trial);
      if (HasFatalFailure()) return;
      ++trial;
    }
  runtime::set_num_threads(2);
}

// Sums of enough terms to be cut into parts.
TEST(Contract, LongSums) {
  uint64_t seed = 100;
  for (Shape3 s : {Shape3{1, 1, 1, 16385}, Shape3{1, 1, 1, 200'000}, Shape3{1, 1, 37, 50'000}, Shape3{1, 5, 1, 33'000},
                   Shape3{2, 3, 7, 33'001}, Shape3{1, 9, 13, 33'000}})
    for (int layout = 0; layout < 4; ++layout) {
      runtime::set_num_threads(1 + layout % 3);
      expect_same<float>(DType::F32, s, layout & 1, layout & 2, 1, ++seed);
    }
  runtime::set_num_threads(2);
  all_floats({1, 3, 5, 33'000}, false, true, 1, 2);
  expect_same<int32_t>(DType::I32, {1, 3, 4, 40'000}, false, true, 1, 1);
}

// The error of a sum of equal terms, which round the same way, grows with the logarithm of their number.
TEST(Contract, LongSumsAreAccurate) {
  for (int64_t k : {100'000, 1'000'000, 10'000'000}) {
    std::vector<float> a(static_cast<size_t>(k), 0.1f), b(static_cast<size_t>(k), 1.0f);
    float c = 0;
    std::byte* p[] = {bytes(a), bytes(b), reinterpret_cast<std::byte*>(&c)};
    kernels::contract({p, {}}, f32_args({1, 1, 1, k}, false, false));
    double exact = static_cast<double>(0.1f) * static_cast<double>(k);
    EXPECT_LE(std::fabs(c - exact) / exact, 2e-6) << k;
  }
}

// Rows of a large product are computed strip by strip: any two of them have the bits of a product of these two alone.
TEST(Contract, LongSumsOfManyRows) {
  runtime::set_num_threads(2);
  const int64_t m = 1100, n = 1001, k = 16'400;
  std::vector<float> a(m * k), b(k * n), c(m * n), two(2 * n);
  std::mt19937 rng(1);
  for (auto* v : {&a, &b})
    for (float& x : *v)
      x = static_cast<float>(rng() % 2001) / 1000.0f - 1;
  auto run = [&](float* from, float* to, int64_t rows) {
    std::byte* p[] = {reinterpret_cast<std::byte*>(from), bytes(b), reinterpret_cast<std::byte*>(to)};
    kernels::contract({p, {}}, f32_args({1, rows, n, k}, false, false));
  };
  run(a.data(), c.data(), m);
  for (int64_t row : {0, 548, 549, 550, 1098}) {
    run(a.data() + row * k, two.data(), 2);
    EXPECT_EQ(std::memcmp(two.data(), c.data() + row * n, two.size() * sizeof(float)), 0) << row;
  }
}

// Sums begin at +0: products that are all -0 give +0, however a tile begins. Also where each product is too small for a
// float.
TEST(Contract, ZerosHaveNoSign) {
  for (std::string_view algorithm : algorithm_names())
    for (Shape3 s : {Shape3{1, 1, 40, 9}, Shape3{1, 3, 400, 64}, Shape3{1, 4, 36, 1}, Shape3{1, 8, 40, 9},
                     Shape3{1, 40, 40, 9}, Shape3{1, 150, 150, 90}, Shape3{1, 20, 40, 600}})
      for (int layout = 0; layout < 4; ++layout)
        for (float tiny : {0.0f, 1e-30f}) {
          bool ta = layout & 1, tb = layout & 2;
          std::vector<float> a(s.m * s.k, tiny), b(s.k * s.n, tiny == 0 ? -1.0f : -tiny), c(s.m * s.n, 1.0f);
          std::byte* p[] = {bytes(a), bytes(b), bytes(c)};
          force_algorithm(algorithm);
          kernels::contract({p, {}}, f32_args(s, ta, tb));
          force_algorithm("");
          for (float x : c)
            ASSERT_EQ(std::bit_cast<uint32_t>(x), 0u) << algorithm << " m " << s.m << " n " << s.n << " k " << s.k
                                                      << " ta " << ta << " tb " << tb << " " << tiny;
        }
}

// One row or one column has four chains in a block: every length of the remainder, matrices that fit in caches and
// larger ones.
TEST(Contract, OneRowEqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  constexpr int64_t lengths[] = {1,   2,   3,   4,   5,   8,   31,  32,  33,  64,   95,  127,
                                 128, 129, 160, 384, 500, 512, 513, 640, 768, 1100, 3000};
  for (int trial = 0; trial < 60; ++trial) {
    runtime::set_num_threads(1 + trial % 3);
    int64_t k = lengths[rng() % std::size(lengths)], n = 1 + static_cast<int64_t>(rng() % (trial % 5 == 0 ? 1200 : 40));
    if (trial % 10 == 1) n += 3000 + static_cast<int64_t>(rng() % 2000);
    if (trial == 2 || trial == 3) n = 17'000, k = 66;
    Shape3 s{1 + static_cast<int64_t>(rng() % 2), 1, n, k};
    if (trial % 3 == 0) std::swap(s.m, s.n);
    bool ta = rng() % 2, tb = rng() % 2;
    int64_t step = rng() % 6 == 0 ? 2 : 1;
    all_floats(s, ta, tb, step, seed + trial);
    if (HasFatalFailure()) return;
  }
}

// Up to 32 rows, odd columns and blocks of k for every layout of B.
TEST(Contract, ThinEqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  for (int trial = 0; trial < 120; ++trial) {
    runtime::set_num_threads(1 + trial % 3);
    Shape3 s{1, 1 + static_cast<int64_t>(rng() % 33), 1 + static_cast<int64_t>(rng() % 200),
             1 + static_cast<int64_t>(rng() % 120)};
    if (trial % 4 == 0) s.m = 1;
    if (trial % 8 == 0) s.n = 2000 + static_cast<int64_t>(rng() % 2500);
    if (trial % 6 == 0) s.k = 505 + static_cast<int64_t>(rng() % 40);
    all_floats(s, rng() % 2, rng() % 2, 1, seed + trial);
    if (HasFatalFailure()) return;
  }
}

// Long columns, one after the other or not: blocks of k that fill vectors evenly, in turn, or not at all.
TEST(Contract, ThinByLongColumns) {
  uint64_t seed = std::random_device{}();
  int trial = 0;
  for (int64_t k : {1024, 1056, 1280, 1536, 2560, 3072, 3584, 4608, 5120, 8192})
    for (int64_t m : {1, 3, 7}) {
      runtime::set_num_threads(1 + ++trial % 3);
      Shape3 s{1, m, 15 + trial % 9, k};
      int64_t step = trial % 7 == 0 ? 2 : 1;
      expect_same<float>(DType::F32, s, trial % 5 == 0, true, step, seed + trial);
      expect_same<scalar::BFloat16>(DType::BF16, s, false, true, step, seed + trial);
      expect_same<scalar::Float16>(DType::F16, s, false, true, step, seed + trial);
      if (HasFatalFailure()) return;
    }
}

// Many rows and few columns, and the reverse: odd columns, blocks of k, every layout of the factors.
TEST(Contract, FlatEqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  for (int trial = 0; trial < 80; ++trial) {
    runtime::set_num_threads(1 + trial % 5);
    Shape3 s{1, 90 + static_cast<int64_t>(rng() % 300), 8 + static_cast<int64_t>(rng() % 260),
             1 + static_cast<int64_t>(rng() % 200)};
    if (trial % 6 == 0) s.k = 505 + static_cast<int64_t>(rng() % 40);
    if (trial % 3 == 0) std::swap(s.m, s.n);
    if (trial % 4 == 1) s.m = 9 + s.m % 60, s.n = 8 + s.n % 60, s.k = 1 + static_cast<int64_t>(rng() % 1100);
    bool ta = rng() % 2, tb = rng() % 2;
    expect_same<float>(DType::F32, s, ta, tb, 1, seed + trial);
    expect_same<double>(DType::F64, s, ta, tb, 1, seed + trial);
    if (HasFatalFailure()) return;
  }
  expect_same<float>(DType::F32, {1, 100, 250, 5000}, false, false, 1, seed);  // k is packed in two steps
}

// Each algorithm, also where another would be chosen.
TEST(Contract, EveryAlgorithmEqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  constexpr int64_t sizes[] = {9, 12, 16, 17, 27, 32, 46, 64, 97, 130};
  auto pick = [&] { return sizes[rng() % std::size(sizes)]; };
  for (std::string_view algorithm : algorithm_names()) {
    force_algorithm(algorithm);
    for (int trial = 0; trial < 24; ++trial) {
      runtime::set_num_threads(1 + trial % 3);
      Shape3 s{1, algorithm.starts_with("few-rows") ? 1 + trial % 8 : pick(), 16 + pick(),
               trial % 6 == 5 ? 500 + pick() : 16 * pick() / 2};
      bool ta = trial % 2, tb = trial / 2 % 2;
      if (trial < 8)
        all_floats(s, ta, tb, 1, seed + trial);
      else
        expect_same<float>(DType::F32, s, ta, tb, 1, seed + trial);
      if (HasFatalFailure()) {
        ADD_FAILURE() << "algorithm " << algorithm;
        return force_algorithm("");
      }
    }
  }
  force_algorithm("");
}

}  // namespace
}  // namespace sheaf::kernels

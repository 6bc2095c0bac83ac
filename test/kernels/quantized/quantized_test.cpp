// Products with quantized weights by each algorithm against the definition, bit for bit.
#include "kernels/quantized/quantized.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "kernels/random_data.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using testing::bytes;
using testing::fill;

// Multiplications beyond which the emulation of a matrix unit takes seconds.
constexpr int64_t kEmulated = 1 << 19;

TEST(ContractQuantized, EqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  using Product = void (*)(const routines::RoutineCall&, const routines::QuantizedArgs<>&);
  const Product tiled = [](const routines::RoutineCall& c, const routines::QuantizedArgs<>& g) {
    contract_quantized_tiles(c, g);
  };
  const Product plainly_tiled = [](const routines::RoutineCall& c, const routines::QuantizedArgs<>& g) {
    contract_quantized_tiles(c, g, plain_byte_tile_kernels());
  };
  int by_tiles = 0;
  auto pick = [&](std::initializer_list<int64_t> from) { return from.begin()[rng() % from.size()]; };
  for (int trial = 0; trial < 200; ++trial) {
    runtime::set_num_threads(1 + trial % 3);
    bool four_bits = rng() % 2;
    int64_t m = pick({1, 1, 2, 3, 16, 17, 33, 70}), n = pick({1, 2, 3, 4, 7, 16, 31, 97, 1030}),
            groups = pick({0, 1, 2, 5, 9}), rows = pick({1, 3, 4, 4, 8, 16, 33, 130}),
            deep = pick({1, 2, four_bits ? 4 : 8, 4, 8});
    int64_t tiles = (n + 3) / 4, k = groups * rows * deep * (four_bits ? 2 : 1);
    std::vector<float> x(m * k + 1), scales(groups * n + 1);
    std::vector<uint8_t> values(groups * tiles * rows * 4 * deep + 1);
    fill(x, rng);
    fill(scales, rng);
    for (uint8_t& v : values)
      v = static_cast<uint8_t>(rng() % 10 == 0 ? 0x80 : rng());
    // Large and small groups, and elements that are not finite.
    if (trial % 5 == 0)
      for (float& e : x)
        e *= pick({0, 1, 2, 3}) == 0 ? 1e38f : 1e-30f;
    if (trial % 7 == 0 && k > 0)
      x[rng() % (m * k)] = trial % 2 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    int64_t tile = rows * 4 * deep;
    const bool by_columns = trial % 11 == 0;
    const routines::QuantizedArgs<> args{
        .dtype = DType::F32,
        .four_bits = four_bits,
        .batch = 1,
        .m = m,
        .n = n,
        .groups = groups,
        .rows = rows,
        .deep = deep,
        .x = {m * k, by_columns ? 1 : k, by_columns ? m : 1},
        .values = {groups * tiles * tile, tiles * tile, tile, 4 * deep, deep, 1},
        .scales = {groups * n, n, 1},
    };
    std::vector<float> expected(m * n), actual(m * n);
    std::vector<Product> products = {contract_quantized};
    if (is_stored_in_order(args)) products.push_back(contract_quantized_dots);
    if (has_byte_tiles(args) && m * n * k <= kEmulated)
      products.push_back(tiled), products.push_back(plainly_tiled), ++by_tiles;
    auto run = [&](Product product, std::vector<float>& out) {
      std::byte* p[] = {bytes(x), bytes(values), bytes(scales), bytes(out)};
      product({p}, args);
    };
    run(routines::contract_quantized, expected);
    for (size_t a = 0; a < products.size(); ++a) {
      std::fill(actual.begin(), actual.end(), 7.0f);
      run(products[a], actual);
      for (size_t i = 0; i < expected.size(); ++i) {
        bool same = std::memcmp(&expected[i], &actual[i], sizeof(float)) == 0 ||
                    (expected[i] != expected[i] && actual[i] != actual[i]);
        ASSERT_TRUE(same) << (four_bits ? "q4" : "q8") << " m " << m << " n " << n << " groups " << groups << " rows "
                          << rows << " deep " << deep << " seed " << seed << " trial " << trial << " algorithm " << a
                          << " element " << i << ": " << expected[i] << " " << actual[i];
      }
    }
  }
  EXPECT_GT(by_tiles, 10) << seed;
}

}  // namespace
}  // namespace sheaf::kernels

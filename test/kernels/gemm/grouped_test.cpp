// Products of groups of rows against the definition, bit for bit.
#include "kernels/gemm/grouped.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "kernels/kernels.h"
#include "kernels/random_data.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using testing::bytes;
using testing::fill;

// Small and large groups, empty ones, rows after the last, matrices and rows in every order, counts that are out of
// range.
template <class T>
void expect_same_groups(DType dtype, std::mt19937_64& rng, const std::string& trial) {
  auto below = [&](int64_t n) { return static_cast<int64_t>(rng() % n); };
  int64_t batch = 1 + below(2), rows = below(3) ? below(90) : 300 + below(300), groups = 1 + below(9),
          k = 1 + below(70), n = 1 + below(70);
  bool outer = rng() % 2, tx = rng() % 2, tw = rng() % 2;
  std::vector<int64_t> counts(batch * groups);
  for (int64_t p = 0; p < batch; ++p)
    for (int64_t g = 0, left = rows; g < groups; ++g)
      left -= counts[p * groups + g] = below(4) == 0 ? 0 : below(left + 1);
  if (below(10) == 0) counts[below(batch * groups)] = below(2) ? -5 : rows + 7;
  std::vector<T> x(batch * rows * k + 1), other(batch * (outer ? rows * n : groups * k * n) + 1),
      expected(batch * (outer ? groups * k * n : rows * n)), actual(expected);
  fill(x, rng);
  fill(other, rng);
  const int64_t down = outer ? rows : k;
  routines::GroupedArgs<> args{
      .dtype = dtype,
      .outer = outer,
      .batch = batch,
      .rows = rows,
      .groups = groups,
      .k = k,
      .n = n,
      .counts = {groups, 1},
      .x = {rows * k, tx ? 1 : k, tx ? rows : 1},
      .other = {(outer ? 1 : groups) * down * n, down * n, tw ? 1 : n, tw ? down : 1},
      .result = dtype,
  };
  auto run = [&](void (*product)(const routines::RoutineCall&, const routines::GroupedArgs<>&), std::vector<T>& c) {
    std::byte* p[] = {bytes(x), bytes(other), bytes(counts), bytes(c)};
    product({p, arithmetic_of(runtime::host_target())}, args);
  };
  run(routines::contract_groups, expected);
  run(contract_groups, actual);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(std::memcmp(&expected[i], &actual[i], sizeof(T)), 0)
        << sheaf::name_of(dtype) << (outer ? " outer" : "") << " batch " << batch << " rows " << rows << " groups "
        << groups << " k " << k << " n " << n << " " << trial << " element " << i;
}

TEST(ContractGroups, EqualsDefinition) {
  uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  for (int trial = 0; trial < 100; ++trial) {
    runtime::set_num_threads(1 + trial % 3);
    std::string name = "seed " + std::to_string(seed) + " trial " + std::to_string(trial);
    expect_same_groups<float>(DType::F32, rng, name);
    expect_same_groups<double>(DType::F64, rng, name);
    expect_same_groups<scalar::BFloat16>(DType::BF16, rng, name);
    expect_same_groups<scalar::Float16>(DType::F16, rng, name);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::kernels

// Products of views against the definition, bit for bit.
#include "kernels/gemm/views.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "kernels/kernels.h"
#include "kernels/random_data.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::ContractViewsArgs;
using routines::ViewAxes;
using testing::bytes;
using testing::fill;

using Below = std::function<int64_t(int64_t)>;

// Up to four axes of about n elements in all, each a step apart that may overlap others; the last may be a run.
ViewAxes<int64_t> random_axes(const Below& below, int64_t n) {
  ViewAxes<int64_t> axes{{1, 1, 1, 1}, {}};
  for (size_t i = routines::kViewAxes; i-- > 0 && n > 0;) {
    const bool last = i == 0 || below(3) == 0;
    axes.sizes[i] = last ? n : 1 + below(n);
    axes.strides[i] = i + 1 == routines::kViewAxes ? below(4) : below(90);
    n = last ? 0 : n / axes.sizes[i];
  }
  return axes;
}

int64_t reach(const ViewAxes<int64_t>& axes) {
  int64_t out = 0;
  for (size_t i = 0; i < routines::kViewAxes; ++i)
    out += (axes.sizes[i] - 1) * axes.strides[i];
  return out;
}

template <class T>
void expect_same_views(DType dtype, const Below& below, std::mt19937_64& rng, int64_t m, int64_t n, int64_t k,
                       const std::string& trial) {
  const int64_t batch = 1 + below(3);
  ContractViewsArgs<> args{.dtype = dtype, .batch = batch, .a = {}, .b = {}};
  args.a = {below(50), random_axes(below, m), random_axes(below, k)};
  k = num_offsets(args.a.columns);
  if (k == 0) args.a.columns = {{0, 1, 1, 1}, {}};
  args.b = {below(50), random_axes(below, k), random_axes(below, n)};
  if (num_offsets(args.b.rows) != k) args.b.rows = {{1, 1, 1, k}, {0, 0, 0, 1 + below(3)}};
  auto elements = [&](const routines::MatrixOfView<int64_t>& x) {
    return static_cast<size_t>(1 + (batch - 1) * x.batch + std::max<int64_t>(0, reach(x.rows)) +
                               std::max<int64_t>(0, reach(x.columns)));
  };
  std::vector<T> a(elements(args.a)), b(elements(args.b)),
      expected(batch * num_offsets(args.a.rows) * num_offsets(args.b.columns)), actual(expected);
  fill(a, rng);
  fill(b, rng);
  auto run = [&](void (*product)(const routines::RoutineCall&, const ContractViewsArgs<>&), std::vector<T>& c) {
    std::byte* p[] = {bytes(a), bytes(b), bytes(c)};
    product({p, arithmetic_of(runtime::host_target())}, args);
  };
  run(routines::contract_views, expected);
  run(contract_views, actual);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(std::memcmp(&expected[i], &actual[i], sizeof(T)), 0)
        << sheaf::name_of(dtype) << " batch " << batch << " m " << m << " n " << n << " k " << k << " " << trial
        << " element " << i;
}

TEST(ContractViews, EqualsDefinition) {
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 rng(seed);
  const Below below = [&](int64_t n) { return static_cast<int64_t>(rng() % n); };
  for (int trial = 0; trial < 60; ++trial) {
    runtime::set_num_threads(1 + trial % 3);
    const std::string name = "seed " + std::to_string(seed) + " trial " + std::to_string(trial);
    // Few rows, many columns, a single row, sums of several blocks and of several parts.
    const int64_t m = trial % 4 == 0 ? 1 : 1 + below(70), n = 1 + below(trial % 5 == 0 ? 3000 : 150),
                  k = trial % 20 == 7 ? 16384 + below(20000) : below(trial % 3 == 0 ? 1200 : 60);
    const bool large = k > 10000;
    expect_same_views<float>(DType::F32, below, rng, large ? std::min<int64_t>(m, 6) : m,
                             large ? std::min<int64_t>(n, 20) : n, k, name);
    expect_same_views<double>(DType::F64, below, rng, std::min<int64_t>(m, 20), std::min<int64_t>(n, 90),
                              std::min<int64_t>(k, 700), name);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::kernels

// Of several failed checks the first in the order of the reference executor is kept, whichever thread fails first:
// checks in reductions, between loops, and after them.
#include <gtest/gtest.h>

#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"

namespace sheaf::codegen {
namespace {

using loop::Builder;
using loop::Combine;
using loop::Mark;
using testing::Memory;
using V = Builder::V;

// Checks of b0[i, j] against three numbers: before, in, between and after two inner loops.
loop::Kernel nest(Mark outer, Mark inner) {
  Builder b("checks");
  b.buffer(DType::I64, false);
  b.buffer(DType::I64, true);
  V rows = b.size(), n = b.size(), i = b.begin_loop(rows, outer);
  auto at = [&](V j) { return b.load(0, b.add(b.mul(i, n), j)); };
  auto check = [&](V x, int64_t bad, int site) { b.check(b.ne(x, b.i64(bad)), site, x); };
  check(at(b.i64(0)), 1, 0);
  V j = b.begin_reduce(n, Combine::Sum);
  V x = at(j);
  check(x, 2, 1);
  V sum = b.end_reduce(x);
  check(sum, 3, 2);
  j = b.begin_loop(n, inner);
  check(at(j), 4, 3);
  b.store(1, b.add(b.mul(i, n), j), b.add(at(j), sum));
  b.end();
  check(at(b.sub(n, b.i64(1))), 5, 4);
  b.end();
  return b.finish();
}

struct Checks : gpu::testing::EachProgram {};
SHEAF_EACH_PROGRAM(Checks);

TEST_P(Checks, TheFirstIsKept) {
  const uint64_t seed = gpu::testing::seed();
  std::mt19937_64 rng(seed);
  struct Case {
    loop::Kernel kernel;
    std::vector<int64_t> sizes;
  };
  std::vector<Case> cases;
  for (Mark outer : {Mark::Parallel, Mark::Vector, Mark::Serial})
    for (Mark inner : {Mark::Vector, Mark::Serial})
      for (int64_t n : {int64_t{1}, int64_t{7}, int64_t{100}, inner == Mark::Serial ? int64_t{200} : int64_t{3000}})
        cases.push_back({nest(outer, inner), {5, n}});
  const auto batch = make();
  for (const Case& c : cases)
    batch->add(c.kernel, c.sizes);
  batch->compile();
  int failed = 0;
  for (size_t i = 0; i < cases.size(); ++i)
    for (int trial = 0; trial < 8; ++trial) {
      const Case& c = cases[i];
      const auto elements = static_cast<size_t>(c.sizes[0] * c.sizes[1]);
      std::vector<Memory> expected(2, {DType::I64, std::vector<std::byte>(elements * 8)});
      auto* x = reinterpret_cast<int64_t*>(expected[0].bytes.data());
      for (size_t e = 0; e < elements; ++e)
        x[e] = rng() % (elements / 2 + 2) == 0 ? static_cast<int64_t>(rng() % 6) : 100;
      std::vector<Memory> actual = expected;
      loop::CheckRecord expected_check, check;
      loop::run_reference(c.kernel, testing::pointers(expected), c.sizes, expected_check);
      batch->run(i, gpu::testing::regions(actual), c.sizes, check, rng());
      failed += check.failed();
      ASSERT_EQ(testing::difference(expected, expected_check, actual, check), "") << "SHEAF_SEED=" << seed << "\n"
                                                                                  << batch->text_of(i);
    }
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace sheaf::codegen

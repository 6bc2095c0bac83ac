#include "loop/regions.h"

#include <gtest/gtest.h>

#include "loop/builder.h"

namespace sheaf::loop {
namespace {

constexpr WorkRates kOneEach{.element = 1, .elementary = 10, .start = 0, .scalar = 0, .call = 0};

// rows * ceil(n / 4) chunks of at most four elements: a load, an exponential and a store each.
TEST(KernelWork, GrowsWithArithmeticOnSizes) {
  Builder b("pieces");
  int in = b.buffer(DType::F32, false), out = b.buffer(DType::F32, true);
  auto rows = b.size(), n = b.size(), four = b.i64(4);
  auto pieces = b.binary(Op::FloorDiv, b.add(n, b.i64(3)), four);
  auto piece = b.begin_loop(b.mul(rows, pieces), Mark::Parallel);
  auto first = b.mul(piece, four);
  auto lane = b.begin_loop(b.min(four, b.sub(n, first)), Mark::Vector);
  auto at = b.add(first, lane);
  b.store(out, at, b.unary(Op::Exp, b.load(in, at)));
  b.end();
  b.end();
  Kernel k = b.finish();
  KernelWork work(k, kOneEach);
  std::vector<int64_t> small{2, 8}, odd{2, 9}, none{0, 8};
  double one = work.ns(small) / 16;
  EXPECT_GE(one, 12) << "of one element";
  EXPECT_LE(one, 16) << "with its address";
  EXPECT_EQ(work.ns(odd), 24 * one) << "the last piece of a row counts in full";
  EXPECT_EQ(work.ns(none), 0);
}

}  // namespace
}  // namespace sheaf::loop

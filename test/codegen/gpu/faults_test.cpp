// The tests must detect faults planted into the text: a missing barrier, a shuffle from the wrong lane, a barrier that
// only some threads reach. A fault that these tests miss, the other tests would miss too.
#include <gtest/gtest.h>

#include "codegen/gpu/shim_program.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"

namespace sheaf::codegen {
namespace {

using loop::Builder;
using loop::Combine;
using loop::Mark;
using testing::Memory;
using V = Builder::V;

// Rows are summed, written, and read again backwards, so that each thread reads elements that others have written.
loop::Kernel rows_twice() {
  Builder b("rows_twice");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  b.buffer(DType::F32, true);
  V rows = b.size(), n = b.size(), i = b.begin_loop(rows, Mark::Parallel);
  auto at = [&](V j) { return b.add(b.mul(i, n), j); };
  V j = b.begin_reduce(n, Combine::Sum);
  V sum = b.end_reduce(b.load(0, at(j)));
  j = b.begin_loop(n, Mark::Vector);
  b.store(1, at(j), b.add(sum, b.load(0, at(j))));
  b.end();
  j = b.begin_loop(n, Mark::Vector);
  b.store(2, at(j), b.load(1, at(b.sub(b.sub(n, b.i64(1)), j))));
  b.end();
  b.end();
  return b.finish();
}

// Column sums, of which warps share the lanes.
loop::Kernel column_sums() {
  Builder b("column_sums");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V rows = b.size(), n = b.size(), j = b.begin_loop(n, Mark::Vector), i = b.begin_reduce(rows, Combine::Sum);
  b.store(1, j, b.end_reduce(b.load(0, b.add(b.mul(i, n), j))));
  b.end();
  return b.finish();
}

// Whether a run of the edited text differs from the reference executor's in any of some orders of threads.
bool differs(const loop::Kernel& k, const std::vector<int64_t>& sizes, const std::string& from, const std::string& to) {
  gpu::testing::ShimProgram batch;
  batch.add(k, sizes);
  bool found = false;
  batch.compile([&](std::string text) {
    for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
      found = true;
    }
    return text;
  });
  EXPECT_TRUE(found || from.empty()) << "no '" << from << "' in\n" << batch.text();
  std::mt19937_64 rng(7);
  std::vector<Memory> before;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    before.push_back({DType::F32, std::vector<std::byte>(static_cast<size_t>(sizes[0] * sizes[1]) * sizeof(float))});
    auto* x = reinterpret_cast<float*>(before.back().bytes.data());
    for (int64_t e = 0; e < sizes[0] * sizes[1]; ++e)
      x[e] = std::normal_distribution<float>(0, 1)(rng);
  }
  std::vector<Memory> expected = before;
  loop::CheckRecord check;
  loop::run_reference(k, testing::pointers(expected), sizes, check);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<Memory> actual = before;
    batch.run(0, gpu::testing::regions(actual), sizes, check, seed);
    if (!testing::difference(expected, {}, actual, {}).empty()) return true;
  }
  return false;
}

const std::vector<int64_t> kWarpRows{3, 500}, kBlockRows{2, 5000}, kColumns{200, 40};

TEST(Faults, NoneWithoutAnEdit) {
  EXPECT_FALSE(differs(rows_twice(), kWarpRows, "", ""));
  EXPECT_FALSE(differs(rows_twice(), kBlockRows, "", ""));
  EXPECT_FALSE(differs(column_sums(), kColumns, "", ""));
}

TEST(Faults, AMissingBarrierOfAWarpIsSeen) { EXPECT_TRUE(differs(rows_twice(), kWarpRows, "__syncwarp();", "")); }

TEST(Faults, AMissingBarrierOfABlockIsSeen) {
  EXPECT_TRUE(differs(rows_twice(), kBlockRows, "  __syncthreads();\n", "\n"));
  EXPECT_TRUE(differs(column_sums(), kColumns, "    __syncthreads();\n", "\n")) << "in the tree of lanes";
}

TEST(Faults, AWrongShuffleIsSeen) {
  EXPECT_TRUE(differs(rows_twice(), kWarpRows, "half = 16", "half = 8"));
  // The same sum in another order.
  EXPECT_TRUE(differs(rows_twice(), kWarpRows, "for (int half = 16; half > 0; half /= 2)",
                      "for (int half = 1; half < 32; half *= 2)"));
  EXPECT_TRUE(differs(rows_twice(), kBlockRows, "half = 4", "half = 2"));
  EXPECT_TRUE(
      differs(column_sums(), kColumns, "r0_lanes[thread / 8]", "r0_lanes[thread / 8 / 4 + thread / 8 % 4 * 8]"));
}

TEST(Faults, ABarrierThatOnlySomeReachEndsTheRun) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(differs(rows_twice(), kBlockRows, "__syncthreads();", "if (threadIdx.x < 40) __syncthreads();"),
               "cuda_shim: threads wait");
}

}  // namespace
}  // namespace sheaf::codegen

// Random kernels through the reference executor and the block back end. SHEAF_SEED=n replays one kernel.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/block/block.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen {
namespace {

std::string run(uint64_t seed) {
  testing::Generator::Case c = testing::Generator(seed).make();
  std::vector<testing::Memory> copy = c.buffers;
  loop::CheckRecord expected, actual;
  loop::run_reference(c.kernel, testing::pointers(c.buffers), c.sizes, expected);
  BlockKernel::compile(c.kernel)->run(testing::pointers(copy), c.sizes, actual);
  std::string d = testing::difference(c.buffers, expected, copy, actual);
  return d.empty() ? d : d + "\nSHEAF_SEED=" + std::to_string(seed) + "\n" + loop::print(c.kernel);
}

TEST(RandomKernel, BlockEqualsReference) {
  if (const char* seed = std::getenv("SHEAF_SEED")) {
    EXPECT_EQ(run(std::strtoull(seed, nullptr, 10)), "");
    return;
  }
  const char* count = std::getenv("SHEAF_COUNT");
  uint64_t n = count ? std::strtoull(count, nullptr, 10) : 250;
  uint64_t first = std::random_device{}();
  int failures = 0;
  for (uint64_t i = 0; i < n && failures < 3; ++i) {
    runtime::set_num_threads(1 + static_cast<int>(i % 3));
    std::string d = run(first + i);
    EXPECT_EQ(d, "");
    failures += !d.empty();
  }
}

}  // namespace
}  // namespace sheaf::codegen

// Random kernels through the reference executor and native code, unspecialized and with their strides known.
// SHEAF_SEED=n replays one kernel, SHEAF_COUNT=n runs n kernels.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/block/block.h"
#include "codegen/llvm/native.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/specialize.h"
#include "runtime/thread_pool.h"

namespace sheaf::codegen {
namespace {

using testing::Generator;
using testing::Memory;

constexpr uint64_t kBatch = 8;  // kernels to an object

void run(uint64_t first, uint64_t count) {
  std::vector<Generator::Case> cases;
  std::vector<loop::Kernel> kernels;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    cases.push_back(Generator(seed).make());
    const auto& c = cases.back();
    kernels.push_back(passes::expand_math(c.kernel));
    kernels.push_back(passes::expand_math(passes::specialize(c.kernel, passes::known_sizes(c.kernel, c.sizes))));
    loop::verify(kernels.back());
  }
  auto native = load_native_object(make_native_object(kernels));
  for (size_t i = 0; i < native.size(); ++i) {
    const Generator::Case& c = cases[i / 2];
    std::vector<Memory> reference = c.buffers, copy = c.buffers;
    loop::CheckRecord expected, actual;
    loop::run_reference(c.kernel, testing::pointers(reference), c.sizes, expected);
    actual.site = native[i]->run(testing::pointers(copy), c.sizes, actual.payload);
    std::string d = testing::difference(reference, expected, copy, actual);
    EXPECT_EQ(d, "") << (i % 2 ? "with known strides" : "") << " SHEAF_SEED=" << first + i / 2 << "\n"
                     << loop::print(c.kernel);
    if (!d.empty()) return;
  }
}

TEST(RandomKernel, NativeEqualsReference) {
  if (!native_available()) GTEST_SKIP() << "built without LLVM";
  if (const char* seed = std::getenv("SHEAF_SEED")) return run(std::strtoull(seed, nullptr, 10), 1);
  const char* count = std::getenv("SHEAF_COUNT");
  uint64_t n = count ? std::strtoull(count, nullptr, 10) : 48;
  uint64_t first = std::random_device{}();
  for (uint64_t i = 0; i < n && !::testing::Test::HasFailure(); i += kBatch) {
    runtime::set_num_threads(1 + static_cast<int>(i / kBatch % 3));
    run(first + i, kBatch);
  }
}

}  // namespace
}  // namespace sheaf::codegen

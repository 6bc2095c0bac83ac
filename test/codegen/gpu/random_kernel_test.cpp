// Random kernels as text for a device and by the reference executor. SHEAF_SEED=n replays the kernels from n on,
// SHEAF_COUNT=n runs n kernels.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"
#include "loop/reference.h"

namespace sheaf::codegen {
namespace {

using testing::Generator;
using testing::Memory;

struct RandomKernel : gpu::testing::EachProgram {};
SHEAF_EACH_PROGRAM(RandomKernel);

TEST_P(RandomKernel, TextEqualsReference) {
  const uint64_t first = gpu::testing::seed();
  const char* count = std::getenv("SHEAF_COUNT");
  const uint64_t n = count ? std::strtoull(count, nullptr, 10) : on_device() ? 400 : 60;
  std::vector<uint64_t> seeds;
  for (uint64_t i = 0; i < n; ++i)
    seeds.push_back(first + i);
  if (!count) seeds.insert(seeds.end(), {1585370695, 3461200664});  // unread reductions along columns
  const auto batch = make();
  std::vector<Generator::Case> cases;
  for (uint64_t seed : seeds) {
    cases.push_back(Generator(seed).make());
    batch->add(cases.back().kernel, cases.back().sizes);
  }
  batch->compile();
  for (size_t i = 0; i < seeds.size(); ++i) {
    const Generator::Case& c = cases[i];
    std::vector<Memory> reference = c.buffers, copy = c.buffers;
    loop::CheckRecord expected, actual;
    loop::run_reference(c.kernel, testing::pointers(reference), c.sizes, expected);
    batch->run(i, gpu::testing::regions(copy), c.sizes, actual, seeds[i]);
    std::string d = testing::difference(reference, expected, copy, actual);
    ASSERT_EQ(d, "") << "SHEAF_SEED=" << seeds[i] << " SHEAF_COUNT=1\n"
                     << loop::print(*batch->entry(i).kernel) << batch->text_of(i);
  }
}

}  // namespace
}  // namespace sheaf::codegen

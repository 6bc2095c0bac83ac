// The templates for products by matrix units against sums in f64, within their bounds: sizes around tiles and copied
// chunks, every layout, strides that allow copies of 16, 8 and 4 bytes or only of elements, batches, parts of k. Two
// runs are equal. Faults planted into the text are found.
#include "codegen/gpu/matrix_units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/gpu/contract.h"
#include "codegen/gpu/shim_program.h"
#include "codegen/gpu/text_program.h"
#include "codegen/gpu/unit_cases.h"
#include "codegen/random_kernels.h"

namespace sheaf::codegen::gpu {
namespace {

using codegen::testing::Memory;
using routines::GemmArgs;
using testing::UnitCase;

struct MatrixUnits : testing::EachProgram {};
SHEAF_EACH_PROGRAM(MatrixUnits);

void add(testing::TextProgram& batch, const UnitCase& c) {
  testing::Entry e;
  for (EmittedLaunch& l :
       emit_unit_contract(c.args, c.tiling, {0, 1, 2}, batch.next_prefix(), batch.helpers(), c.aligned))
    e.program.steps.emplace_back(std::move(l));
  batch.add(std::move(e));
}

TEST_P(MatrixUnits, ProductsAreWithinBounds) {
  const uint64_t seed = testing::seed();
  std::mt19937_64 rng(seed);
  auto any = [&](auto... x) {
    const int64_t all[] = {x...};
    return all[rng() % std::size(all)];
  };
  std::vector<UnitCase> cases;
  for (int i = 0; i < 60; ++i) {
    UnitTiling tilings[] = {{}, {64, 64, 32, 32, 1}, {64, 64, 32, 32, any(2, 3)}};
    for (UnitTiling& t : tilings)
      t.packs = rng() % 2 == 0;
    cases.push_back(
        testing::unit_case(rng() % 2 ? DType::BF16 : DType::F16, rng() % 3 == 0, any(1, 1, 1, 2),
                           any(1, 15, 16, 17, 63, 64, 65, 127, 128, 129), any(1, 15, 16, 17, 63, 64, 65, 127, 128, 129),
                           any(0, 1, 15, 16, 17, 31, 32, 33, 64, 100, 129, 200), rng() % 2, rng() % 2,
                           any(0, 0, 1, 2, 4, 8), any(0, 0, 1, 2, 4, 8), tilings[rng() % 3], rng() % 8 != 0));
    if (UnitCase& c = cases.back(); c.tiling.parts == 1) c.args.line = c.args.n + any(0, 1, 2, 8);
  }
  const auto batch = make();
  for (const UnitCase& c : cases)
    add(*batch, c);
  batch->compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Memory> operands = testing::unit_operands(cases[i].args, rng());
    const std::vector<std::byte> result = testing::unit_result(*batch, i, operands, seed + i);
    ASSERT_EQ(testing::unit_error(cases[i].args, operands, result), "")
        << testing::print(cases[i]) << " SHEAF_SEED=" << seed << "\n"
        << batch->text_of(i);
    ASSERT_EQ(result, testing::unit_result(*batch, i, operands, seed + i + 1)) << "another order of threads";
  }
}

// Infinities and NaNs reach the right elements.
TEST_P(MatrixUnits, KeepWhatIsNotFinite) {
  const UnitCase c = testing::unit_case(DType::BF16, true, 1, 40, 50, 70, false, true, 0, 0, {64, 64, 32, 32, 1}, true);
  const auto batch = make();
  add(*batch, c);
  batch->compile();
  std::vector<Memory> operands = testing::unit_operands(c.args, 5);
  auto* a = reinterpret_cast<uint16_t*>(operands[0].bytes.data());
  a[3 * 70 + 69] = 0x7f80;  // infinity
  a[17 * 70] = 0x7fc0;      // NaN
  const std::vector<std::byte> result = testing::unit_result(*batch, 0, operands, 1);
  const auto* y = reinterpret_cast<const float*>(result.data());
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 50; ++j) {
      EXPECT_EQ(std::isinf(y[i * 50 + j]), i == 3) << i << " " << j;
      EXPECT_EQ(std::isnan(y[i * 50 + j]), i == 17) << i << " " << j;
    }
}

// Whether a product by the edited text leaves its bounds in any of some orders of threads.
bool is_wrong(const std::string& from, const std::string& to, const UnitTiling& tiling) {
  const UnitCase c = testing::unit_case(DType::BF16, true, 1, 100, 90, 260, false, true, 0, 0, tiling, true);
  testing::ShimProgram batch;
  add(batch, c);
  bool found = from.empty();
  batch.compile([&](std::string text) {
    for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
      found = true;
    }
    return text;
  });
  EXPECT_TRUE(found) << "no '" << from << "' in\n" << batch.text();
  const std::vector<Memory> operands = testing::unit_operands(c.args, 7);
  for (uint64_t seed = 1; seed <= 5; ++seed)
    if (!testing::unit_error(c.args, operands, testing::unit_result(batch, 0, operands, seed)).empty()) return true;
  return false;
}

TEST(MatrixUnitFaults, AreSeen) {
  for (const UnitTiling& t : {UnitTiling{}, UnitTiling{64, 64, 32, 32, 1}}) {
    EXPECT_FALSE(is_wrong("", "", t));
    EXPECT_TRUE(is_wrong("    __syncthreads();", "", t)) << "a missing barrier";
    EXPECT_TRUE(is_wrong("    wait_for_copies<3 - 2>();", "", t)) << "a missing wait";
    EXPECT_TRUE(is_wrong("wait_for_copies<3 - 2>", "wait_for_copies<3 - 1>", t)) << "a wait for too few copies";
    EXPECT_TRUE(is_wrong("int now = 0, next = 3 - 1", "int now = 0, next = 0", t)) << "a stage that is in use";
    EXPECT_TRUE(is_wrong("(lane >> 4)", "((lane >> 3) & 1)", t)) << "matrices in another order";
    EXPECT_TRUE(is_wrong("load_matrices(y", "load_matrices_transposed(y", t));
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu

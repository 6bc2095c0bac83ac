// The kernels of the whole op table, in all dtypes and odd shapes, as text for a device: the bits of the reference
// executor, and the same first failed check. What has no form for a device is listed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "codegen/gpu/shim_program.h"
#include "codegen/gpu/text_program.h"
#include "loop/reference.h"
#include "ops/canonical.h"

namespace sheaf::ops {
namespace {

using codegen::gpu::testing::Region;
using codegen::gpu::testing::TextProgram;

struct Subject {
  std::string label;
  loop::Kernel kernel;
  Launch launch;
};

// Routines without a form for a device.
const std::set<std::string> kOnHost = {
    "solve", "solve_triangular", "det", "slogdet", "lu", "qr", "eigh", "svd", "eigvalsh", "svdvals", "cholesky", "fft",
};

// Outputs are memory of their own; inputs may be views.
bool is_aligned(const Launch& l) {
  return std::all_of(l.in.begin(), l.in.end(),
                     [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.bytes()) % 16 == 0; });
}

// The memory that a launch touches, of its arguments in `buffers`.
std::vector<Region> regions(const Launch& l, const std::vector<std::byte*>& buffers) {
  std::vector<Region> out;
  auto add = [&](DType d, const Dims& sizes, const Dims& strides) {
    const Extent e = extent_of(sizes, strides);
    std::byte* at = buffers[out.size()];
    out.push_back({at, at + e.first * size_bytes(d), static_cast<size_t>(e.count * size_bytes(d))});
  };
  for (const Tensor& t : l.in)
    add(t.dtype, t.sizes, t.strides);
  for (const TensorType& t : l.out)
    add(t.dtype, to_dims(t.sizes), contiguous_strides(to_dims(t.sizes)));
  return out;
}

void compare(TextProgram& batch, std::vector<Subject>& subjects, uint64_t seed) {
  for (const Subject& s : subjects)
    batch.add(s.kernel, sizes_of(s.launch), {.aligned = is_aligned(s.launch), .copies = true});
  batch.compile();
  for (size_t i = 0; i < subjects.size(); ++i) {
    const Subject& s = subjects[i];
    for (const auto& step : batch.entry(i).program.steps) {
      auto* call = std::get_if<codegen::gpu::HostCall>(&step);
      EXPECT_TRUE(!call || kOnHost.count(call->routine)) << call->routine << ", " << s.label;
    }
    SCOPED_TRACE(s.label + " SHEAF_SEED=" + std::to_string(seed));
    Outcome reference = outcome(s.launch, [&](auto&... args) { loop::run_reference(s.kernel, args...); });
    Outcome actual = outcome(s.launch, [&](auto& buffers, auto& sizes, auto& check) {
      batch.run(i, regions(s.launch, buffers), sizes, check, seed + i);
    });
    ASSERT_EQ(reference.check.site, actual.check.site);
    if (reference.check.failed()) {
      ASSERT_EQ(reference.check.payload, actual.check.payload);
      continue;
    }
    for (size_t k = 0; k < reference.out.size(); ++k)
      ASSERT_TRUE(same_bits(reference.out[k], actual.out[k]))
          << "output " << k << "\n"
          << loop::print(*batch.entry(i).kernel) << batch.text_of(i);
  }
}

// Of all cases one in so many, each in one of its storage orders. SHEAF_EVERY=1 runs all.
int64_t every() {
  const char* text = std::getenv("SHEAF_EVERY");
  return text ? std::atoll(text) : 6;
}

struct OpTable : codegen::gpu::testing::EachProgram {};
SHEAF_EACH_PROGRAM(OpTable);

TEST_P(OpTable, TextEqualsReference) {
  Rng rng(codegen::gpu::testing::seed());
  std::vector<Subject> subjects;
  for (const OpDef* op : all_ops()) {
    if (!op->scalar && !op->lower) continue;
    for (DType dtype : dtypes_of(*op))
      for (const OpCase& c : cases_of(*op, dtype, Data::Wild)) {
        if (rng.below(every()) != 0) continue;
        std::vector<Tensor> in = c.make(rng);
        const Storage how = kStorages[rng.below(std::size(kStorages))];
        for (Tensor& t : in)
          t = stored_as(t, how);
        Launch l = canonical(*op, c, in);
        loop::Kernel k = kernel_of(*op, l);
        subjects.push_back(
            {c.label + " " + std::string(sheaf::name_of(dtype)) + " " + name_of(how), std::move(k), std::move(l)});
      }
  }
  constexpr size_t kBatch = 200;
  for (size_t i = 0; i < subjects.size() && !::testing::Test::HasFatalFailure(); i += kBatch) {
    std::vector<Subject> some(
        std::make_move_iterator(subjects.begin() + static_cast<std::ptrdiff_t>(i)),
        std::make_move_iterator(subjects.begin() + static_cast<std::ptrdiff_t>(std::min(i + kBatch, subjects.size()))));
    compare(*make(), some, rng.seed);
  }
}

// Compilers for devices warn of a division by a constant 0, even where it never runs, as in launches without items.
void expect_no_division_by_zero(const std::string& text, std::string_view label) {
  for (const char* sign : {"% 0", "/ 0"})
    for (size_t at = 0; (at = text.find(sign, at)) != std::string::npos; at += 3)
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(text[at + 3])) || text[at + 3] == '.')
          << label << ": " << text.substr(text.rfind('\n', at) + 1, 120);
}

TEST(OpTableText, NeverDividesByZero) {
  Rng rng(codegen::gpu::testing::seed());
  int64_t empty = 0;
  for (const OpDef* op : all_ops()) {
    if (!op->scalar && !op->lower) continue;
    for (DType dtype : {DType::F32, DType::I64}) {
      if (std::vector<DType> all = dtypes_of(*op); std::find(all.begin(), all.end(), dtype) == all.end()) continue;
      codegen::gpu::testing::ShimProgram batch;
      for (const OpCase& c : cases_of(*op, dtype, Data::Wild)) {
        const Launch l = canonical(*op, c, c.make(rng));
        batch.add(kernel_of(*op, l), sizes_of(l));
        for (const auto& step : batch.entry(batch.size() - 1).program.steps)
          if (auto* launch = std::get_if<codegen::gpu::EmittedLaunch>(&step)) empty += launch->schedule.blocks == 0;
      }
      expect_no_division_by_zero(batch.kernel_text(), op->name);
    }
  }
  EXPECT_GT(empty, 0) << "no launch without items was looked at";
  for (uint64_t i = 0; i < 20; ++i) {
    codegen::gpu::testing::ShimProgram batch;
    auto c = codegen::testing::Generator(rng.seed + i).make();
    batch.add(c.kernel, c.sizes);
    expect_no_division_by_zero(batch.kernel_text(), "random kernel " + std::to_string(rng.seed + i));
  }
}

}  // namespace
}  // namespace sheaf::ops

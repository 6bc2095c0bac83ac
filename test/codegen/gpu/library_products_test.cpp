// Products by a library: when it is called, and with which arguments. Through the shim the test multiplies in its
// place, on a GPU cuBLASLt does. Results are within the bounds of matrix units; unaligned lines pass through copies.
#include "codegen/gpu/library_products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/gpu/device_program.h"
#include "codegen/gpu/pack_lines.h"
#include "codegen/gpu/products.h"
#include "codegen/gpu/text_program.h"
#include "codegen/gpu/unit_cases.h"

namespace sheaf::codegen::gpu {
namespace {

using codegen::testing::Memory;
using routines::GemmArgs;
using testing::UnitCase;

struct LibraryProducts : testing::EachProgram {
  void SetUp() override {
    EachProgram::SetUp();
    if (IsSkipped() || !on_device()) return;
    if (!make()->ask_library(
            library_product(testing::unit_case(DType::BF16, true, 1, 64, 64, 64, false, false, 0, 0, {}, true).args)))
      GTEST_SKIP() << "no cuBLASLt";
  }
};
SHEAF_EACH_PROGRAM(LibraryProducts);

// Whether the library is there.
bool add(testing::TextProgram& batch, const GemmArgs<>& g) {
  testing::Entry e;
  const auto workspace = batch.ask_library(library_product(g));
  if (!workspace) return false;
  LibrarySteps steps = emit_library_product(g, *workspace, {0, 1, 2}, batch.next_prefix(), batch.helpers());
  for (EmittedLaunch& l : steps.before)
    e.program.steps.emplace_back(std::move(l));
  e.program.steps.emplace_back(std::move(steps.call));
  for (EmittedLaunch& l : steps.after)
    e.program.steps.emplace_back(std::move(l));
  batch.add(std::move(e));
  return true;
}

TEST_P(LibraryProducts, AreWithinBounds) {
  const uint64_t seed = testing::seed();
  std::mt19937_64 rng(seed);
  auto any = [&](auto... x) {
    const int64_t all[] = {x...};
    return all[rng() % std::size(all)];
  };
  std::vector<UnitCase> cases;
  auto add_case = [&](int64_t m, int64_t n, int64_t k) {
    cases.push_back(testing::unit_case(rng() % 2 ? DType::BF16 : DType::F16, rng() % 3 == 0, any(1, 1, 2, 3), m, n, k,
                                       rng() % 2, rng() % 2, any(0, 0, 1, 4, 8), any(0, 0, 1, 4, 8), {}, true));
    GemmArgs<>& g = cases.back().args;
    if (rng() % 4 == 0) g.b.batch = 0;                   // one matrix for all
    g.line = any(n, (n + 7) / 8 * 8, (n + 23) / 8 * 8);  // as they are, or as the library can write them
  };
  for (int i = 0; i < 40; ++i)
    add_case(any(64, 65, 72, 100, 128), any(64, 65, 66, 72, 101), any(64, 65, 80, 130));
  if (on_device())
    for (int i = 0; i < 4; ++i)
      add_case(any(512, 1024, 1100), any(768, 1029, 3072), any(333, 768, 1024));
  const auto batch = make();
  for (const UnitCase& c : cases)
    ASSERT_TRUE(add(*batch, c.args)) << testing::print(c);
  batch->compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    GemmArgs<> laid_out = cases[i].args;
    if (laid_out.b.batch == 0) laid_out.b.batch = laid_out.n * laid_out.k * 2;  // room for one, whatever its lines
    std::vector<Memory> operands = testing::unit_operands(laid_out, rng());
    const std::vector<std::byte> result = testing::unit_result(*batch, i, operands, seed + i);
    ASSERT_EQ(testing::unit_error(cases[i].args, operands, result), "")
        << testing::print(cases[i]) << " SHEAF_SEED=" << seed << "\n"
        << batch->text_of(i);
    ASSERT_EQ(result, testing::unit_result(*batch, i, operands, seed + i + 1))
        << "a second run, " << testing::print(cases[i]);
  }
}

GemmArgs<> product(DType d, int64_t m, int64_t n, int64_t k, bool a_transposed = false, bool b_transposed = false) {
  return testing::unit_case(d, false, 1, m, n, k, a_transposed, b_transposed, 0, 0, {}, true).args;
}

// Which form a product takes, by whether there is a library.
std::string form(const GemmArgs<>& g, bool has_library, bool aligned = true) {
  Facilities f{aligned, true, true};
  if (has_library) f.library = [](const runtime::LibraryProduct&) { return std::optional<int64_t>(0); };
  return std::string(product_form(g, f).name);
}

TEST(LibraryProductChoice, LargeOnesOf16Bits) {
  EXPECT_EQ(form(product(DType::BF16, 8192, 3072, 768), true), "library");
  EXPECT_EQ(form(product(DType::F16, 8192, 768, 3072, false, true), true), "library");
  EXPECT_EQ(form(product(DType::BF16, 768, 3072, 8192, true, false), true), "library");
  EXPECT_EQ(form(product(DType::BF16, 8192, 3072, 768), false), "matrix-units");
  EXPECT_EQ(form(product(DType::BF16, 8192, 3072, 768), true, false), "matrix-units") << "pointers anywhere";
  EXPECT_EQ(form(product(DType::BF16, 256, 256, 256), true), "matrix-units") << "too small";
  EXPECT_EQ(form(product(DType::BF16, 32, 50304, 768), true), "matrix-units") << "few rows";
  EXPECT_EQ(form(product(DType::BF16, 8, 50304, 768), true), "stated-order");
  GemmArgs<> f32 = product(DType::BF16, 8192, 3072, 768);
  f32.dtype = f32.result = DType::F32;
  EXPECT_EQ(form(f32, true), "tiles");
}

// The library may refuse a product.
TEST(LibraryProductChoice, OtherwiseTheTemplates) {
  Facilities f{true, true, true, [](const runtime::LibraryProduct&) { return std::optional<int64_t>(); }};
  EXPECT_EQ(product_form(product(DType::BF16, 8192, 3072, 768), f).name, "matrix-units");
}

// Odd columns cost copies, of the result too if k is long enough to pay for them; odd k costs another launch, if the
// result is not rounded yet.
TEST(LibraryProductChoice, OddLines) {
  auto launches = [](const GemmArgs<>& g) {
    Helpers helpers(cuda());
    const LibrarySteps s = emit_library_product(g, 100, {0, 1, 2}, "k", helpers);
    std::string out;
    for (const auto* all : {&s.before, &s.after})
      for (const EmittedLaunch& l : *all)
        out += l.name.substr(1) + " ";
    return out;
  };
  EXPECT_EQ(form(product(DType::BF16, 8192, 50257, 768, false, true), true), "library");
  EXPECT_EQ(form(product(DType::BF16, 8192, 50257, 64, false, true), true), "matrix-units");
  EXPECT_EQ(launches(product(DType::BF16, 8192, 50257, 768, false, true)), "_pack_b _unpack ");
  GemmArgs<> odd_terms = product(DType::BF16, 8192, 768, 50257);
  EXPECT_EQ(form(odd_terms, true), "matrix-units");
  odd_terms.result = DType::F32;
  EXPECT_EQ(form(odd_terms, true), "library");
  EXPECT_EQ(launches(odd_terms), "_pack_a _rest ");
  EXPECT_EQ(library_product(odd_terms).k, 50256);
  EXPECT_EQ(launches(product(DType::BF16, 50257, 768, 8192, true, false)), "_pack_a ");
  EXPECT_EQ(launches(product(DType::BF16, 8192, 3072, 768)), "");
  const runtime::LibraryProduct p = library_product(product(DType::BF16, 8192, 50257, 768, false, true));
  EXPECT_EQ(p.n, 50264);
  EXPECT_EQ(p.c_line_step, 50264);
  // If the library can write the result's lines, it writes the result directly.
  GemmArgs<> in_lines = product(DType::BF16, 8192, 50257, 768, false, true);
  in_lines.result = DType::F32;
  EXPECT_EQ(library_line_of(in_lines), 50264);
  in_lines.line = 50264;
  EXPECT_EQ(launches(in_lines), "_pack_b ");
  in_lines.line = 50260;
  EXPECT_EQ(form(in_lines, true), "matrix-units") << "it would write more than there is";
  EXPECT_EQ(library_line_of(product(DType::BF16, 8192, 3072, 768)), 3072);
  EXPECT_EQ(library_line_of(product(DType::BF16, 32, 50257, 768)), std::nullopt);
}

// Odd lines where they are, which the library may or may not be able to read and write.
bool add_in_place(testing::DeviceProgram& program, const GemmArgs<>& g) {
  runtime::LibraryProduct p = library_product(g);
  const runtime::LibraryProduct with_copies = p;
  p.a.line_step = operand_lines(g, Factor::A).lines.line_step;
  p.b.line_step = operand_lines(g, Factor::B).lines.line_step;
  p.c_line_step = g.n;
  const auto workspace = program.ask_library(p);
  if (p == with_copies || !workspace) return false;
  testing::Entry e;
  e.program.steps.emplace_back(LibraryCall{
      p, {Parameter::Buffer, 0}, {Parameter::Buffer, 1}, {Parameter::Buffer, 2}, {Parameter::Workspace}, *workspace});
  program.add(std::move(e));
  return true;
}

// The speed at the shapes of models compared with the templates, for people: SHEAF_RATES=1.
struct OnDeviceLibrary : testing::DeviceTest {};
TEST_F(OnDeviceLibrary, Rates) {
  if (!std::getenv("SHEAF_RATES")) GTEST_SKIP() << "SHEAF_RATES=1 prints the speed of products";
  struct Case {
    int64_t m, n, k;
    bool a_transposed, b_transposed;
  };
  testing::DeviceProgram program;
  std::vector<std::pair<std::string, GemmArgs<>>> cases;
  for (auto [m, n, k, a_transposed, b_transposed] : {Case{8192, 2304, 768, false, false},
                                                     {8192, 768, 768, false, false},
                                                     {8192, 3072, 768, false, false},
                                                     {8192, 768, 3072, false, false},
                                                     {8192, 768, 3072, false, true},
                                                     {768, 3072, 8192, true, false},
                                                     {768, 768, 8192, true, false},
                                                     {8192, 50257, 768, false, true},
                                                     {8192, 768, 50257, false, false},
                                                     {50257, 768, 8192, true, false},
                                                     {16384, 1536, 384, false, false},
                                                     {384, 1536, 16384, true, false},
                                                     {512, 512, 512, false, false}}) {
    GemmArgs<> g = product(DType::BF16, m, n, k, a_transposed, b_transposed);
    if (n == 50257) g.result = DType::F32;  // logits, as models have them
    const std::string label = fmt::format("bf16 to {} {} x {} x {}{}", sheaf::name_of(g.result), m, n, k,
                                          a_transposed   ? " TN"
                                          : b_transposed ? " NT"
                                                         : " NN");
    ASSERT_TRUE(add(program, g));
    cases.emplace_back(label + ", library", g);
    if (add_in_place(program, g)) cases.emplace_back(label + ", library, odd lines", g);
    testing::Entry e;
    for (EmittedLaunch& l :
         emit_unit_contract(g, unit_tiling_of(g), {0, 1, 2}, program.next_prefix(), program.helpers(), true))
      e.program.steps.emplace_back(std::move(l));
    program.add(std::move(e));
    cases.emplace_back(label + ", templates", g);
  }
  program.compile();
  std::vector<uint16_t> data(size_t{840} << 20);
  uint64_t seed = 1;
  for (uint16_t& x : data) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<uint16_t>(0x3f00 | (seed >> 40 & 0x80ff));
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [label, g] = cases[i];
    std::vector<testing::RateBuffer> buffers;
    for (int64_t bytes : {2 * g.m * g.k, 2 * g.k * g.n, g.m * g.n * size_bytes(g.result)})
      buffers.push_back({data.data(), static_cast<size_t>(bytes)});
    print_rate(program, i, label, 2.0 * static_cast<double>(g.m * g.n * g.k), true, buffers, {});
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu

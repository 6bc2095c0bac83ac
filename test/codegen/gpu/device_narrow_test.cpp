// Products and attention of 16-bit numbers at the sizes of models, on a GPU: within their bounds, or to the bit where
// the definition states the order. SHEAF_RATES=1 prints their speed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/gpu/attention.h"
#include "codegen/gpu/attention_units.h"
#include "codegen/gpu/contract.h"
#include "codegen/gpu/device_program.h"
#include "codegen/gpu/row_products.h"
#include "codegen/gpu/unit_cases.h"

namespace sheaf::codegen::gpu {
namespace {

using codegen::testing::Memory;
using routines::GemmArgs;
using testing::DeviceProgram;
using testing::UnitCase;

struct OnDeviceNarrow : testing::DeviceTest {
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    const std::string& architecture = testing::Device::find().architecture;
    if (std::atoi(architecture.c_str() + 3) < 80) GTEST_SKIP() << architecture << " has no such matrix units";
  }
};

// Row-major or column-major (T); the layouts of a layer's forward pass, of its gradients, and odd ones.
UnitCase product(DType d, bool to_f32, int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed) {
  UnitCase c = testing::unit_case(d, to_f32, 1, m, n, k, a_transposed, b_transposed, 0, 0, {}, true);
  c.tiling = unit_tiling_of(c.args);
  return c;
}

void add(DeviceProgram& program, std::vector<EmittedLaunch> launches) {
  testing::Entry e;
  for (EmittedLaunch& l : launches)
    e.program.steps.emplace_back(std::move(l));
  program.add(std::move(e));
}
void add_units(DeviceProgram& program, const UnitCase& c) {
  add(program, emit_unit_contract(c.args, c.tiling, {0, 1, 2}, program.next_prefix(), program.helpers(), c.aligned));
}

TEST_F(OnDeviceNarrow, LargeProductsAreWithinBounds) {
  std::vector<UnitCase> cases;
  for (DType d : {DType::BF16, DType::F16})
    for (bool to_f32 : {false, true}) {
      cases.push_back(product(d, to_f32, 1024, 3072, 768, false, true));
      cases.push_back(product(d, to_f32, 768, 1152, 1024, true, false));
      cases.push_back(product(d, to_f32, 1100, 1030, 130, false, false));
      cases.push_back(product(d, to_f32, 515, 1029, 333, true, true));
      cases.push_back(product(d, to_f32, 130, 80, 20000, false, true));
      cases.push_back(product(d, to_f32, 64, 2304, 768, false, false));
      cases.push_back(product(d, to_f32, 17, 50257, 768, false, true));
    }
  DeviceProgram program;
  for (const UnitCase& c : cases)
    add_units(program, c);
  program.compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Memory> operands = testing::unit_operands(cases[i].args, i);
    std::vector<Memory> once = operands, again = operands;
    loop::CheckRecord check;
    program.run(i, testing::regions(once), {}, check, 0);
    program.run(i, testing::regions(again), {}, check, 0);
    EXPECT_EQ(testing::unit_error(cases[i].args, operands, once[2].bytes), "") << testing::print(cases[i]);
    EXPECT_EQ(once[2].bytes, again[2].bytes) << "a second run, " << testing::print(cases[i]);
  }
}

std::vector<EmittedLaunch> stated_order(const routines::GemmArgs<>& g, DeviceProgram& program) {
  return is_row_product(g) ? emit_row_product(g, {0, 1, 2}, program.next_prefix(), program.helpers(), true)
                           : emit_contract(g, tiling_of(g), {0, 1, 2}, program.next_prefix(), program.helpers());
}

TEST_F(OnDeviceNarrow, FewRowsEqualDefinition) {
  std::vector<UnitCase> cases;
  for (int64_t m : {1, 2, 16})
    for (bool b_transposed : {false, true})
      cases.push_back(
          product(m == 2 ? DType::F16 : DType::BF16, b_transposed, m, m == 1 ? 50257 : 2304, 768, false, b_transposed));
  DeviceProgram program;
  for (const UnitCase& c : cases)
    add(program, stated_order(c.args, program));
  program.compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<Memory> expected = testing::unit_operands(cases[i].args, i), actual = expected;
    routines::contract({codegen::testing::pointers(expected), {}}, cases[i].args);
    loop::CheckRecord check;
    program.run(i, testing::regions(actual), {}, check, 0);
    EXPECT_EQ(codegen::testing::difference(expected, {}, actual, {}), "") << testing::print(cases[i]);
  }
}

// Causal, [B, T, H, D] seen as [B, H, T, D]. Arrays: q, k, v, scale, offset, window, y, lse, delta, dy, dq, dk, dv.
routines::AttentionVjpArgs<> causal(int64_t batch, int64_t heads, int64_t rows, int64_t depth) {
  routines::AttentionVjpArgs<> a{};
  a.dtype = DType::BF16;
  a.causal = true;
  a.batch = batch, a.heads = a.groups = heads, a.rows = a.columns = rows, a.depth = a.width = depth;
  a.q = a.k = a.v = {heads * rows * depth, depth, heads * depth, 1};
  a.lse = a.delta = {rows * heads, heads, 1};
  a.dy = {rows * heads * depth, heads * depth, depth, 1};
  return a;
}

// The speed of products and attention, for people: SHEAF_RATES=1. A star marks the tiling that is chosen.
TEST_F(OnDeviceNarrow, Rates) {
  if (!std::getenv("SHEAF_RATES")) GTEST_SKIP() << "SHEAF_RATES=1 prints the speed of products and attention";
  struct Case {
    std::string label;
    double work;
    std::vector<int64_t> bytes;
  };
  std::vector<Case> cases;
  DeviceProgram program;
  auto add_case = [&](const UnitCase& c, const std::string& how, auto add_launches) {
    const auto& g = c.args;
    cases.push_back({fmt::format("bf16 {} x {} x {}{}, {}", g.m, g.n, g.k,
                                 g.a.row == 1   ? " TN"
                                 : g.b.row == 1 ? " NT"
                                                : " NN",
                                 how),
                     2.0 * static_cast<double>(g.m * g.n * g.k),
                     {2 * g.m * g.k, 2 * g.k * g.n, 2 * g.m * g.n}});
    add_launches();
  };
  constexpr UnitTiling kTilings[] = {
      {128, 128, 64, 32, 1}, {128, 128, 64, 64, 1}, {64, 64, 32, 32, 1}, {64, 64, 32, 32, 2}, {64, 64, 32, 32, 3}};
  for (auto [m, n, k] : {std::array<int64_t, 3>{4096, 4096, 4096},
                         {8192, 3072, 768},
                         {8192, 768, 3072},
                         {8192, 50304, 768},
                         {1024, 3072, 768},
                         {1024, 768, 768},
                         {64, 2304, 768}})
    for (UnitTiling t : kTilings)
      for (int layout = 0; layout < (t == kTilings[0] ? 3 : 1); ++layout) {
        UnitCase c = product(DType::BF16, false, m, n, k, layout == 2, layout == 1);
        const bool chosen = t == c.tiling;
        c.tiling = t;
        add_case(c,
                 fmt::format("{} warps {} x {}, {} parts{}", t.rows, t.warp_rows, t.warp_columns, t.parts,
                             chosen ? " *" : ""),
                 [&] { add_units(program, c); });
      }
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{1, 50257, 768}, {1, 768, 50257}, {1, 2304, 768}, {8, 2304, 768}, {16, 50257, 768}})
    for (bool b_transposed : {false, true}) {
      const UnitCase c = product(DType::BF16, false, m, n, k, false, b_transposed);
      add_case(c, "stated order", [&] { add(program, stated_order(c.args, program)); });
    }
  for (auto [batch, heads, rows, depth] :
       {std::array<int64_t, 4>{8, 12, 1024, 64}, {64, 6, 256, 64}, {1, 16, 2048, 128}}) {
    const auto a = causal(batch, heads, rows, depth);
    const int64_t array = 2 * batch * heads * rows * depth, row = 4 * batch * heads * rows;
    const std::vector<int64_t> bytes{array, array, array, 4, 8, 8, array, row, row, array, array, array, array};
    const double pair = 2.0 * static_cast<double>(batch * heads * rows * rows * depth);  // causal: half of two products
    for (bool units : {true, false}) {
      const std::string label =
          fmt::format("attention B{} H{} T{} D{}{}", batch, heads, rows, depth, units ? "" : ", stated order");
      const std::vector<int32_t> forward{0, 1, 2, 3, 4, 5, 6, 7}, reverse{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12};
      cases.push_back({label, pair, bytes});
      add(program, units ? emit_unit_attention(a, forward, program.next_prefix(), program.helpers(), true)
                         : emit_attention(a, forward, program.next_prefix(), program.helpers()));
      cases.push_back({label + ", reverse", 2.5 * pair, bytes});
      add(program, units ? emit_unit_attention_vjp(a, reverse, program.next_prefix(), program.helpers(), true)
                         : emit_attention_vjp(a, reverse, program.next_prefix(), program.helpers()));
    }
  }
  program.compile();
  // Numbers around 1 of either sign; scales, offsets and windows of attention are recognized by their small size.
  std::vector<uint16_t> data(size_t{420} << 20);
  uint64_t seed = 1;
  for (uint16_t& x : data) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<uint16_t>(0x3f00 | (seed >> 40 & 0x80ff));
  }
  const float scale = 0.125f;
  const int64_t offset = 0, window = int64_t{1} << 40;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<testing::RateBuffer> buffers;
    for (int64_t n : cases[i].bytes)
      buffers.push_back({data.data(), static_cast<size_t>(n)});
    if (buffers.size() > 3) {
      buffers[3].content = &scale;
      buffers[4].content = &offset;
      buffers[5].content = &window;
    }
    print_rate(program, i, cases[i].label, cases[i].work, true, buffers, {});
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu

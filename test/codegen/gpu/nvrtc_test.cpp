// The text through NVRTC, which needs no GPU, for every generation that is supported. Skipped where none is found.
#include "runtime/nvrtc.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "codegen/gpu/attention.h"
#include "codegen/gpu/attention_units.h"
#include "codegen/gpu/contract.h"
#include "codegen/gpu/contract_tiles.h"
#include "codegen/gpu/grouped.h"
#include "codegen/gpu/library_products.h"
#include "codegen/gpu/matrix_units.h"
#include "codegen/gpu/quantized.h"
#include "codegen/gpu/row_products.h"
#include "codegen/gpu/running.h"
#include "codegen/gpu/shim_program.h"
#include "codegen/gpu/sorting.h"
#include "codegen/gpu/unit_cases.h"
#include "codegen/random_kernels.h"
#include "ops/canonical.h"

namespace sheaf::ops {
namespace {

using codegen::gpu::testing::ShimProgram;
using runtime::Nvrtc;

// One kernel of every op, some random ones and the templates, as GPUs with or without copies in the background take
// them.
void compile_all(uint64_t seed, bool copies, std::initializer_list<const char*> architectures) {
  const codegen::gpu::Facilities facilities{.copies = copies};
  Rng rng(seed);
  ShimProgram batch;
  for (const OpDef* op : all_ops()) {
    if (!op->scalar && !op->lower) continue;
    std::vector<DType> dtypes = dtypes_of(*op);
    DType dtype = dtypes[static_cast<size_t>(rng.below(static_cast<int64_t>(dtypes.size())))];
    std::vector<OpCase> cases = cases_of(*op, dtype, Data::Wild);
    if (cases.empty() || rng.below(3) != 0) continue;
    const OpCase& c = cases[static_cast<size_t>(rng.below(static_cast<int64_t>(cases.size())))];
    Launch l = canonical(*op, c, c.make(rng));
    batch.add(kernel_of(*op, l), sizes_of(l), facilities);
  }
  for (uint64_t i = 0; i < 12; ++i) {
    auto c = codegen::testing::Generator(rng.seed + i).make();
    batch.add(c.kernel, c.sizes, facilities);
  }
  constexpr DType kProducts[] = {DType::F32, DType::F64, DType::BF16, DType::F16};
  for (auto [m, n, tile] : {std::array<int, 3>{100, 100, 32}, {2000, 2000, 128}, {1, 768, 64}}) {
    const DType d = kProducts[rng.below(4)];
    const routines::GemmArgs<> g{
        .dtype = d, .batch = 1, .m = m, .n = n, .k = 20000, .a = {0, 20000, 1}, .b = {0, n, 1}, .result = d};
    codegen::gpu::testing::Entry e;
    using namespace codegen::gpu;
    for (auto& l : is_row_product(g)
                       ? emit_row_product(g, {0, 1, 2}, batch.next_prefix(), batch.helpers(), rng.below(2) == 0)
                       : emit_contract(g, {tile, tile == 32}, {0, 1, 2}, batch.next_prefix(), batch.helpers()))
      e.program.steps.emplace_back(std::move(l));
    batch.add(std::move(e));
  }
  for (int64_t rows : {1, 40}) {
    routines::AttentionVjpArgs<> a{};
    constexpr DType kTypes[] = {DType::F32, DType::F64, DType::BF16};
    a.dtype = kTypes[rng.below(3)];
    a.causal = true;
    a.mask = static_cast<routines::MaskKind>(rng.below(3));
    a.batch = 1, a.heads = 4, a.groups = 2, a.rows = rows, a.columns = 700, a.depth = a.width = 64;
    codegen::gpu::testing::Entry e;
    for (auto& l : codegen::gpu::emit_attention(a, {0, 1, 2, 3, 4, 5, 6, 7, 8}, batch.next_prefix(), batch.helpers()))
      e.program.steps.emplace_back(std::move(l));
    for (auto& l : codegen::gpu::emit_attention_vjp(a, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                                    batch.next_prefix() + "v", batch.helpers()))
      e.program.steps.emplace_back(std::move(l));
    batch.add(std::move(e));
  }
  for (const char* architecture : architectures)
    EXPECT_EQ(Nvrtc::find().compile(batch.kernel_text(), architecture).log, "")
        << architecture << " SHEAF_SEED=" << rng.seed << "\n"
        << batch.kernel_text();
}

TEST(Nvrtc, CompilesTheText) {
  const Nvrtc& nvrtc = Nvrtc::find();
  if (!nvrtc.missing().empty()) GTEST_SKIP() << nvrtc.missing() << "; the text is checked as C++ only";
  const uint64_t seed = codegen::gpu::testing::seed();
  compile_all(seed, false, {"sm_75"});
  compile_all(seed, true, {"sm_80", "sm_90", "sm_120"});
}

// Errors and warnings; and what a kernel spills, as sums of a template belong into registers.
std::string complaints(const ShimProgram& batch, const char* architecture) {
  const Nvrtc::Result made = Nvrtc::find().compile(batch.kernel_text(), architecture, true);
  std::istringstream log(made.log.c_str());  // a report may end in zeros
  std::string out, line, kernel;
  while (std::getline(log, line)) {
    if (line.find("Compiling entry function") != std::string::npos) kernel = line;
    const bool spills =
        line.find("bytes spill stores") != std::string::npos && line.find(" 0 bytes spill stores") == std::string::npos;
    if (spills) out += kernel + "\n";
    if (spills || (!line.empty() && !line.starts_with("ptxas"))) out += line + "\n";
  }
  return made.ok ? out : out + "refused";
}

// sm_75 has other units and no copies in the background: nothing asks for this text there.
TEST(Nvrtc, CompilesMatrixUnits) {
  const Nvrtc& nvrtc = Nvrtc::find();
  if (!nvrtc.missing().empty()) GTEST_SKIP() << nvrtc.missing() << "; the text is checked as C++ only";
  namespace gpu = codegen::gpu;
  ShimProgram batch;
  for (int i = 0; i < 4; ++i) {
    const gpu::UnitTiling t = i % 2 ? gpu::UnitTiling{64, 64, 32, 32, 2} : gpu::UnitTiling{};
    const int64_t gap = i / 2;
    const gpu::testing::UnitCase c =
        gpu::testing::unit_case(gap ? DType::F16 : DType::BF16, gap, 1, 256, 256, 256, i == 3, i != 0, 0, gap, t, true);
    gpu::testing::Entry e;
    for (auto& l : gpu::emit_unit_contract(c.args, t, {0, 1, 2}, batch.next_prefix(), batch.helpers(), true))
      e.program.steps.emplace_back(std::move(l));
    batch.add(std::move(e));
  }
  for (const char* architecture : {"sm_80", "sm_90", "sm_120"})
    EXPECT_EQ(complaints(batch, architecture), "") << architecture << "\n" << batch.kernel_text();
}

// Both ways, of both widths, with and without batches.
TEST(Nvrtc, CompilesCopiesForLibraries) {
  const Nvrtc& nvrtc = Nvrtc::find();
  if (!nvrtc.missing().empty()) GTEST_SKIP() << nvrtc.missing() << "; the text is checked as C++ only";
  namespace gpu = codegen::gpu;
  ShimProgram batch;
  // Both operands and the result in copies; then another launch for the terms that the library leaves.
  for (int64_t batches : {1, 2}) {
    gpu::testing::UnitCase c =
        gpu::testing::unit_case(DType::BF16, batches > 1, batches, 65, 67, 129, batches == 1, false, 0, 0, {}, true);
    if (batches > 1) c.args.result = DType::F32;
    gpu::LibrarySteps steps = gpu::emit_library_product(c.args, 0, {0, 1, 2}, batch.next_prefix(), batch.helpers());
    gpu::testing::Entry e;
    for (auto* launches : {&steps.before, &steps.after})
      for (auto& l : *launches)
        e.program.steps.emplace_back(std::move(l));
    EXPECT_EQ(e.program.steps.size(), batches == 1 ? 3u : 4u);
    batch.add(std::move(e));
  }
  for (const char* architecture : {"sm_80", "sm_90", "sm_120"})
    EXPECT_EQ(complaints(batch, architecture), "") << architecture << "\n" << batch.kernel_text();
}

TEST(Nvrtc, CompilesTiles) {
  const Nvrtc& nvrtc = Nvrtc::find();
  if (!nvrtc.missing().empty()) GTEST_SKIP() << nvrtc.missing() << "; the text is checked as C++ only";
  namespace gpu = codegen::gpu;
  ShimProgram batch;
  int number = 0;
  for (gpu::TileShape shape : gpu::kTileShapes)
    for (DType d : {DType::F32, DType::F64, DType::I32}) {
      const gpu::testing::UnitCase c =
          gpu::testing::unit_case(d, false, 1, 256, 256, 1024, number % 2, number % 3 == 0, 0, 0, {}, true);
      shape.splits = number++ % 2;
      gpu::testing::Entry e;
      for (auto& l : gpu::emit_tiles(c.args, shape, {0, 1, 2}, batch.next_prefix(), batch.helpers(), true))
        e.program.steps.emplace_back(std::move(l));
      batch.add(std::move(e));
    }
  const char* architecture = gpu::testing::seed() % 2 ? "sm_80" : "sm_90";
  EXPECT_EQ(complaints(batch, architecture), "") << architecture << "\n" << batch.kernel_text();
}

TEST(Nvrtc, CompilesRoutines) {
  const Nvrtc& nvrtc = Nvrtc::find();
  if (!nvrtc.missing().empty()) GTEST_SKIP() << nvrtc.missing() << "; the text is checked as C++ only";
  namespace gpu = codegen::gpu;
  ShimProgram batch;
  auto add = [&](auto emit, const auto& args) {
    gpu::testing::Entry e;
    for (auto& l : emit(args, std::vector<int32_t>{0, 1, 2, 3}, batch.next_prefix(), batch.helpers()))
      e.program.steps.emplace_back(std::move(l));
    batch.add(std::move(e));
  };
  for (DType d : {DType::F32, DType::F64, DType::BF16})
    for (int64_t inner : {1, 64}) {
      add(gpu::emit_cumulate, routines::CumulateArgs<>{d, 1, 50257, inner, routines::Running::Sum});
      add(gpu::emit_recurrence, routines::RecurrenceArgs<>{d, inner == 1 ? 20000 : 1, 1000, inner, inner == 1});
    }
  for (DType d : {DType::F32, DType::F64, DType::F16, DType::I8}) {
    add(gpu::emit_sort, routines::SortArgs<>{d, 4, 4096, false, 4096});
    add(gpu::emit_sort, routines::SortArgs<>{d, 4, 50257, true, 50});
    add(gpu::emit_sort, routines::SortArgs<>{d, 4, 50257, true, 50257});
    add(gpu::emit_search, routines::SearchArgs<>{d, 4, 50257, 100, true});
  }
  for (DType d : {DType::F32, DType::BF16})
    for (bool outer : {false, true}) {
      routines::GroupedArgs<> a{.dtype = d, .outer = outer, .batch = 1, .rows = 4096, .groups = 8, .k = 512, .n = 2048};
      a.counts = {8, 1}, a.x = {0, 512, 1}, a.result = DType::F32;
      a.other = {.batch = 0, .group = 512 * 2048, .row = 2048, .column = 1};
      add(gpu::emit_grouped, a);
    }
  for (bool four_bits : {false, true})
    for (int64_t m : {1, 2, 4, 8}) {
      const int64_t deep = four_bits ? 4 : 8, tile = 16 * deep;
      add([](auto&&... x) { return gpu::emit_quantized(x..., true); },
          routines::QuantizedArgs<>{.dtype = DType::F32,
                                    .four_bits = four_bits,
                                    .batch = 1,
                                    .m = m,
                                    .n = 8192,
                                    .groups = 64,
                                    .rows = 4,
                                    .deep = deep,
                                    .x = {0, 2048, 1},
                                    .values = {0, 2048 * tile, tile, 4 * deep, deep, 1},
                                    .scales = {0, 8192, 1}});
    }
  for (const char* architecture : {"sm_75", "sm_90"})
    EXPECT_EQ(complaints(batch, architecture), "") << architecture << "\n" << batch.kernel_text();
  if (const char* path = std::getenv("SHEAF_KEEP_TEXT")) std::ofstream(path) << batch.kernel_text();
}

TEST(Nvrtc, CompilesAttentionByMatrixUnits) {
  const Nvrtc& nvrtc = Nvrtc::find();
  if (!nvrtc.missing().empty()) GTEST_SKIP() << nvrtc.missing() << "; the text is checked as C++ only";
  namespace gpu = codegen::gpu;
  ShimProgram batch;
  for (int64_t depth : {64, 128}) {
    routines::AttentionVjpArgs<> a{};
    a.dtype = depth == 64 ? DType::BF16 : DType::F16;
    a.causal = depth != 32;
    a.mask = static_cast<routines::MaskKind>(depth / 64);
    a.batch = 1, a.heads = 4, a.groups = 2, a.rows = 100, a.columns = 700, a.depth = a.width = depth;
    a.q = a.k = a.v = a.dy = {0, 0, depth, 1};
    gpu::testing::Entry e;
    for (auto& l : gpu::emit_unit_attention(a, {0, 1, 2, 3, 4, 5, 6, 7, 8}, batch.next_prefix(), batch.helpers(), true))
      e.program.steps.emplace_back(std::move(l));
    for (auto& l : gpu::emit_unit_attention_vjp(a, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                                batch.next_prefix() + "v", batch.helpers(), true))
      e.program.steps.emplace_back(std::move(l));
    batch.add(std::move(e));
  }
  // They take seconds each.
  constexpr const char* kArchitectures[] = {"sm_80", "sm_90", "sm_120"};
  const char* architecture = kArchitectures[codegen::gpu::testing::seed() % 3];
  EXPECT_EQ(complaints(batch, architecture), "") << architecture << "\n" << batch.kernel_text();
}

}  // namespace
}  // namespace sheaf::ops

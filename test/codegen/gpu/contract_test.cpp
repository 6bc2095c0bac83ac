// The templates for products against the definition (routines/gemm), to the bit: sizes around tiles, blocks and parts
// of k, layouts, and batches; with all tilings.
#include "codegen/gpu/contract.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "codegen/gpu/contract_tiles.h"
#include "codegen/gpu/row_products.h"
#include "codegen/gpu/text_program.h"
#include "codegen/random_kernels.h"

namespace sheaf::codegen::gpu {
namespace {

using codegen::testing::Memory;
using routines::GemmArgs;

struct Case {
  GemmArgs<> args;
  Tiling tiling;
  std::optional<TileShape> shape = {};  // by the template of contract_tiles.h
  bool aligned = true;
};

Case product(DType d, int64_t batch, int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed, Tiling t,
             bool to_f32 = false) {
  const DType result = d == DType::I8 ? DType::I32 : to_f32 ? DType::F32 : d;
  GemmArgs<> g{.dtype = d, .batch = batch, .m = m, .n = n, .k = k, .a = {}, .b = {}, .result = result};
  g.a = a_transposed ? routines::MatrixStrides<int64_t>{m * k, 1, m} : routines::MatrixStrides<int64_t>{m * k, k, 1};
  g.b = b_transposed ? routines::MatrixStrides<int64_t>{n * k, 1, k} : routines::MatrixStrides<int64_t>{n * k, n, 1};
  return {g, t};
}

bool is_narrow(DType d) { return d == DType::BF16 || d == DType::F16; }

Memory random_memory(DType d, int64_t n, std::mt19937_64& rng) {
  Memory m{d, std::vector<std::byte>(static_cast<size_t>(std::max<int64_t>(n, 1) * size_bytes(d)))};
  scalar::visit_dtype(d, [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < n; ++i) {
      double x = rng() % 4096 == 0 ? (rng() % 2 ? NAN : -0.0) : std::normal_distribution<double>(0, 1)(rng);
      T v = scalar::convert<T>(is_float(d) ? x : static_cast<double>(rng() % 2000) - 1000);
      std::memcpy(m.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
    }
  });
  return m;
}

struct Contract : testing::EachProgram {};
SHEAF_EACH_PROGRAM(Contract);

TEST_P(Contract, TemplatesEqualDefinition) {
  const uint64_t seed = testing::seed();
  std::mt19937_64 rng(seed);
  std::vector<Case> cases;
  constexpr DType kTypes[] = {DType::F32, DType::F64,  DType::I32, DType::I64,
                              DType::U32, DType::BF16, DType::F16, DType::I8};
  auto any = [&](auto... x) {
    const int64_t all[] = {x...};
    return all[rng() % std::size(all)];
  };
  for (DType d : kTypes)
    for (int i = 0; i < (d == DType::F32 ? 12 : 4); ++i)
      cases.push_back(product(d, any(1, 1, 3), any(2, 3, 16, 63, 64, 65, 130), any(2, 5, 63, 64, 65, 129),
                              any(0, 1, 15, 16, 17, 100, 511, 512, 513, 1100), rng() % 2, rng() % 2,
                              Tiling{static_cast<int>(any(32, 64, 64, 128)), rng() % 2 == 0},
                              is_narrow(d) && rng() % 2));
  for (DType d : kTypes)
    for (int i = 0; i < (d == DType::F32 ? 16 : 6) && size_bytes(d) >= 4; ++i) {
      cases.push_back(product(d, any(1, 1, 3), any(2, 3, 16, 32, 63, 64, 65, 128, 130), any(2, 5, 32, 63, 64, 65, 128),
                              any(0, 1, 7, 8, 15, 16, 17, 64, 100, 511, 512, 513, 1100), rng() % 2, rng() % 2,
                              Tiling{}));
      cases.back().shape = kTileShapes[rng() % std::size(kTileShapes)];
      cases.back().shape->splits = rng() % 2 == 0;
      cases.back().aligned = rng() % 4 != 0;
    }
  // One row or one column.
  for (DType d : kTypes)
    for (int i = 0; i < 4; ++i) {
      const bool row = rng() % 2;
      const int64_t count = any(1, 2, 31, 32, 33, 100);
      cases.push_back(product(d, any(1, 2), row ? 1 : count, row ? count : 1, any(0, 1, 3, 4, 5, 511, 513, 1500),
                              rng() % 2, rng() % 2, Tiling{}, is_narrow(d) && rng() % 2));
      cases.back().aligned = rng() % 2;
    }
  // One row whose matrix is read along k, or across, with and without a rest.
  for (DType d : kTypes)
    for (int64_t k : {64, 520, 1544, 1551})
      for (bool along : {false, true})
        cases.push_back(product(d, any(1, 2), 1, any(1, 7, 40, 300), k, false, along, Tiling{}));
  // Several parts of k.
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{3, 2, 16384}, {3, 2, 16385}, {2, 3, 50000}, {1, 5, 40000}, {5, 1, 33000}})
    for (DType d : {DType::F32, DType::BF16})
      for (bool transposed : {false, true})
        if (transposed || m == 1) cases.push_back(product(d, 1, m, n, k, false, transposed, Tiling{}));
  for (bool splits : {false, true})
    for (int64_t k : {16385, 33000, 50000}) {
      cases.push_back(product(DType::F32, 1, 3, 2, k, false, true, Tiling{}));
      cases.back().shape = kTileShapes[2];
      cases.back().shape->splits = splits;
    }

  const auto batch = make();
  for (const Case& c : cases) {
    testing::Entry e;
    const std::string name = batch->next_prefix();
    for (EmittedLaunch& l : c.shape ? emit_tiles(c.args, *c.shape, {0, 1, 2}, name, batch->helpers(), c.aligned)
                            : is_row_product(c.args)
                                ? emit_row_product(c.args, {0, 1, 2}, name, batch->helpers(), c.aligned)
                                : emit_contract(c.args, c.tiling, {0, 1, 2}, name, batch->helpers()))
      e.program.steps.emplace_back(std::move(l));
    batch->add(std::move(e));
  }
  batch->compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    const GemmArgs<>& g = cases[i].args;
    std::vector<Memory> expected{random_memory(g.dtype, g.batch * g.m * g.k, rng),
                                 random_memory(g.dtype, g.batch * g.k * g.n, rng),
                                 random_memory(g.result, g.batch * g.m * g.n, rng)};
    std::vector<Memory> actual = expected;
    std::vector<std::byte*> pointers = codegen::testing::pointers(expected);
    routines::contract({pointers, {}}, g);
    loop::CheckRecord check;
    batch->run(i, testing::regions(actual), {}, check, seed + i);
    ASSERT_EQ(codegen::testing::difference(expected, {}, actual, {}), "")
        << sheaf::name_of(g.dtype) << " " << g.batch << " x " << g.m << " x " << g.n << " x " << g.k << " tile "
        << cases[i].tiling.side << (cases[i].tiling.splits ? " split" : "")
        << (cases[i].shape ? fmt::format(" or {} x {}", cases[i].shape->rows, cases[i].shape->columns) : "")
        << " SHEAF_SEED=" << seed << "\n"
        << batch->text_of(i);
  }
}

}  // namespace
}  // namespace sheaf::codegen::gpu

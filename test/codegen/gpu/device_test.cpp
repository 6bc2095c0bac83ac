// Tests that need a GPU. The other tests of the text run on it as well (EachProgram: --gtest_filter=*Device*).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "codegen/gpu/contract.h"
#include "codegen/gpu/contract_tiles.h"
#include "codegen/gpu/device_program.h"
#include "codegen/gpu/row_products.h"

namespace sheaf::codegen {
namespace {

using gpu::testing::DeviceProgram;
using loop::Builder;
using loop::Combine;
using loop::Mark;
using loop::Op;
using testing::Memory;
using V = Builder::V;

struct OnDevice : gpu::testing::DeviceTest {};

// Values of either sign around 1.
std::vector<float> random_floats(int64_t n, uint64_t seed) {
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<float>(static_cast<int32_t>(seed >> 32)) * 0x1p-30f;
  }
  return out;
}

routines::GemmArgs<> product(int64_t m, int64_t n, int64_t k) {
  return {.dtype = DType::F32,
          .batch = 1,
          .m = m,
          .n = n,
          .k = k,
          .a = {m * k, k, 1},
          .b = {k * n, n, 1},
          .result = DType::F32};
}

void add_product(DeviceProgram& program, const routines::GemmArgs<>& g, gpu::Tiling tiling) {
  gpu::testing::Entry e;
  for (gpu::EmittedLaunch& l : gpu::is_row_product(g)
                                   ? gpu::emit_row_product(g, {0, 1, 2}, program.next_prefix(), program.helpers(), true)
                                   : gpu::emit_contract(g, tiling, {0, 1, 2}, program.next_prefix(), program.helpers()))
    e.program.steps.emplace_back(std::move(l));
  program.add(std::move(e));
}

// More blocks than run at once, of large tiles: the shim takes too long for such.
TEST_F(OnDevice, LargeProductsEqualDefinition) {
  std::vector<routines::GemmArgs<>> cases{product(1024, 1152, 520), product(1100, 1030, 130), product(130, 80, 20000),
                                          product(1, 50257, 768)};
  DeviceProgram program;
  for (const auto& g : cases)
    add_product(program, g, gpu::tiling_of(g));
  program.compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& g = cases[i];
    std::vector<Memory> expected;
    for (int64_t n : {g.m * g.k, g.k * g.n, g.m * g.n}) {
      expected.push_back({DType::F32, std::vector<std::byte>(static_cast<size_t>(n) * sizeof(float))});
      std::memcpy(expected.back().bytes.data(), random_floats(n, i).data(), expected.back().bytes.size());
    }
    std::vector<Memory> actual = expected;
    routines::contract({testing::pointers(expected), {}}, g);
    loop::CheckRecord check;
    program.run(i, gpu::testing::regions(actual), {}, check, 0);
    EXPECT_EQ(testing::difference(expected, {}, actual, {}), "") << g.m << " x " << g.n << " x " << g.k;
  }
}

// row(b, n, at) emits the statements for a row of n elements; at(j) is the position of its element j.
template <class Row>
loop::Kernel rows_kernel(const char* name, int buffers, Row&& row) {
  Builder b(name);
  for (int i = 0; i < buffers; ++i)
    b.buffer(DType::F32, i == buffers - 1);
  V rows = b.size(), n = b.size(), i = b.begin_loop(rows, Mark::Parallel);
  row(b, n, [&](V j) { return b.add(b.mul(i, n), j); });
  b.end();
  return b.finish();
}

loop::Kernel map() {
  Builder b("map");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V n = b.size(), i = b.begin_loop(n, Mark::Vector), x = b.load(0, i);
  b.store(1, i, b.mul(x, b.add(x, b.number(DType::F32, 1))));
  b.end();
  return b.finish();
}

loop::Kernel map_exp() {
  Builder b("exp");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V n = b.size(), i = b.begin_loop(n, Mark::Vector);
  b.store(1, i, b.unary(Op::Exp, b.load(0, i)));
  b.end();
  return b.finish();
}

loop::Kernel softmax() {
  return rows_kernel("softmax", 2, [](Builder& b, V n, auto at) {
    V j = b.begin_reduce(n, Combine::Max);
    V max = b.end_reduce(b.load(0, at(j)));
    j = b.begin_reduce(n, Combine::Sum);
    V sum = b.end_reduce(b.unary(Op::Exp, b.sub(b.load(0, at(j)), max)));
    j = b.begin_loop(n, Mark::Vector);
    b.store(1, at(j), b.div(b.unary(Op::Exp, b.sub(b.load(0, at(j)), max)), sum));
    b.end();
  });
}

// The reductions of a row for cross entropy: its maximum, and the sum of exponentials.
loop::Kernel log_sum() {
  Builder b("sums of exponentials");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V rows = b.size(), n = b.size(), i = b.begin_loop(rows, Mark::Parallel);
  V j = b.begin_reduce(n, Combine::Max);
  V max = b.end_reduce(b.load(0, b.add(b.mul(i, n), j)));
  j = b.begin_reduce(n, Combine::Sum);
  V sum = b.end_reduce(b.unary(Op::Exp, b.sub(b.load(0, b.add(b.mul(i, n), j)), max)));
  b.store(1, i, b.add(max, b.unary(Op::Log, sum)));
  b.end();
  return b.finish();
}

// The exponentials are kept in the output instead of being computed twice.
loop::Kernel softmax_kept() {
  return rows_kernel("softmax, kept", 2, [](Builder& b, V n, auto at) {
    V j = b.begin_reduce(n, Combine::Max);
    V max = b.end_reduce(b.load(0, at(j)));
    j = b.begin_reduce(n, Combine::Sum);
    V e = b.unary(Op::Exp, b.sub(b.load(0, at(j)), max));
    b.store(1, at(j), e);
    V sum = b.end_reduce(e);
    j = b.begin_loop(n, Mark::Vector);
    b.store(1, at(j), b.div(b.load(1, at(j)), sum));
    b.end();
  });
}

loop::Kernel layer_norm() {
  return rows_kernel("layer norm", 4, [](Builder& b, V n, auto at) {
    V count = b.convert(n, DType::F32);
    V j = b.begin_reduce(n, Combine::Sum);
    V mean = b.div(b.end_reduce(b.load(0, at(j))), count);
    j = b.begin_reduce(n, Combine::Sum);
    V d = b.sub(b.load(0, at(j)), mean);
    V variance = b.div(b.end_reduce(b.mul(d, d)), count);
    V scale = b.div(b.number(DType::F32, 1), b.unary(Op::Sqrt, b.add(variance, b.number(DType::F32, 1e-5))));
    j = b.begin_loop(n, Mark::Vector);
    b.store(3, at(j), b.fma(b.mul(b.sub(b.load(0, at(j)), mean), scale), b.load(1, j), b.load(2, j)));
    b.end();
  });
}

loop::Kernel column_sums() {
  Builder b("column sums");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V rows = b.size(), n = b.size(), j = b.begin_loop(n, Mark::Vector), i = b.begin_reduce(rows, Combine::Sum);
  b.store(1, j, b.end_reduce(b.load(0, b.add(b.mul(i, n), j))));
  b.end();
  return b.finish();
}

loop::Kernel sum_all() {
  Builder b("sum of all");
  b.buffer(DType::F32, false);
  b.buffer(DType::F32, true);
  V n = b.size(), i = b.begin_reduce(n, Combine::Sum);
  b.store(1, b.i64(0), b.end_reduce(b.load(0, i)));
  return b.finish();
}

// The speed of a few kernels, for people: SHEAF_RATES=1.
TEST_F(OnDevice, Rates) {
  if (!std::getenv("SHEAF_RATES")) GTEST_SKIP() << "SHEAF_RATES=1 prints the speed of a few kernels";
  struct Case {
    std::string label;
    double work;  // bytes, or operations of products
    bool product = false;
    std::vector<int64_t> elements;  // of the buffers
    std::vector<int64_t> sizes;
  };
  std::vector<Case> cases;
  DeviceProgram program;
  auto add = [&](const loop::Kernel& k, const std::string& shape, std::vector<int64_t> elements,
                 std::vector<int64_t> sizes) {
    double bytes = 0;
    for (int64_t n : elements)
      bytes += 4.0 * static_cast<double>(n);
    cases.push_back({k.name + " " + shape, bytes, false, std::move(elements), sizes});
    program.add(k, sizes);
  };
  constexpr int64_t kMany = int64_t{64} << 20;
  add(map(), "64M", {kMany, kMany}, {kMany});
  add(map_exp(), "64M", {kMany, kMany}, {kMany});
  add(softmax(), "65536 x 768", {65536 * 768, 65536 * 768}, {65536, 768});
  add(softmax_kept(), "65536 x 768", {65536 * 768, 65536 * 768}, {65536, 768});
  add(softmax(), "1024 x 50257", {1024 * 50257, 1024 * 50257}, {1024, 50257});
  add(softmax(), "1024 x 50260", {1024 * 50260, 1024 * 50260}, {1024, 50260});
  add(log_sum(), "1024 x 50257", {1024 * 50257, 1024}, {1024, 50257});
  add(log_sum(), "1024 x 50260", {1024 * 50260, 1024}, {1024, 50260});
  add(log_sum(), "64 x 50260", {64 * 50260, 64}, {64, 50260});
  add(layer_norm(), "65536 x 768", {65536 * 768, 768, 768, 65536 * 768}, {65536, 768});
  add(layer_norm(), "32768 x 2048", {32768 * 2048, 2048, 2048, 32768 * 2048}, {32768, 2048});
  add(column_sums(), "65536 x 768", {65536 * 768, 768}, {65536, 768});
  add(column_sums(), "8192 x 8192", {8192 * 8192, 8192}, {8192, 8192});
  add(column_sums(), "8192 x 768", {8192 * 768, 768}, {8192, 768});
  add(column_sums(), "8192 x 3072", {8192 * 3072, 3072}, {8192, 3072});
  add(column_sums(), "65536 x 771", {65536 * 771, 771}, {65536, 771});
  add(sum_all(), "64M", {kMany, 1}, {kMany});
  add(sum_all(), "3072 x 768", {3072 * 768, 1}, {3072 * 768});
  // Every shape of tiles, to choose by (tile_shape_of); a star marks the one that is chosen.
  enum Layout : uint8_t { NN, NT, TN };
  struct Product {
    int64_t m, n, k;
    Layout layout;
  };
  for (auto [m, n, k, layout] : {Product{4096, 4096, 4096, NN},
                                 {8192, 3072, 768, NN},
                                 {1024, 3072, 768, NN},
                                 {64, 3072, 768, NN},
                                 {64, 3072, 768, NT},
                                 {64, 768, 3072, NN},
                                 {64, 2304, 768, NN},
                                 {64, 768, 768, NN},
                                 {64, 50257, 768, NT},
                                 {64, 768, 50257, NN},
                                 {3072, 768, 64, TN},
                                 {768, 768, 64, TN},
                                 {50257, 768, 64, TN},
                                 {16, 768, 768, NN}})
    for (gpu::TileShape shape : gpu::kTileShapes)
      for (bool splits : {false, true}) {
        shape.splits = splits;
        routines::GemmArgs<> g = product(m, n, k);
        if (layout == NT) g.b = {n * k, 1, k};
        if (layout == TN) g.a = {m * k, 1, m};
        if (splits && gpu::parts_of(g, true).blocks == 0) continue;
        constexpr const char* kNames[] = {"NN", "NT", "TN"};
        cases.push_back({fmt::format("product {} x {} x {} {}, {} x {} by {} x {}{}{}", m, n, k, kNames[layout],
                                     shape.rows, shape.columns, shape.own_rows, shape.own_columns,
                                     splits ? " split" : "", shape == gpu::tile_shape_of(g) ? " *" : ""),
                         2.0 * static_cast<double>(m * n * k),
                         true,
                         {m * k, k * n, m * n},
                         {}});
        gpu::testing::Entry e;
        for (gpu::EmittedLaunch& l :
             gpu::emit_tiles(g, shape, {0, 1, 2}, program.next_prefix(), program.helpers(), true))
          e.program.steps.emplace_back(std::move(l));
        program.add(std::move(e));
      }
  for (int64_t n : {2304, 50257}) {
    const routines::GemmArgs<> g = product(1, n, 768);
    cases.push_back(
        {fmt::format("product 1 x {} x 768", n), 2.0 * 768 * static_cast<double>(n), true, {768, 768 * n, n}, {}});
    add_product(program, g, gpu::tiling_of(g));
  }
  program.compile();
  const std::vector<float> data = random_floats(kMany, 1);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    std::vector<gpu::testing::RateBuffer> buffers;
    for (int64_t n : c.elements)
      buffers.push_back({data.data(), static_cast<size_t>(n) * sizeof(float)});
    print_rate(program, i, c.label, c.work, c.product, buffers, c.sizes);
  }
}

}  // namespace
}  // namespace sheaf::codegen

// Steps of a product with a prologue and an epilogue: for any tiles that the product completes, and any number of reads
// of its factor's rows, the result is that of the launches one after the other.
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/cpu_runner.h"

namespace sheaf::runtime {
namespace {

constexpr int64_t kRows = 7, kDepth = 3, kColumns = 10;

// C[kRows, kColumns] = A[kRows, kDepth] B[kDepth, kColumns] in tiles of some rows and columns.
class Tiles final : public FusedProduct {
 public:
  Tiles(int64_t rows, int64_t columns, bool keep) : rows_(rows), columns_(columns), keep_(keep) {}
  bool completes_rows() const override { return columns_ == kColumns; }
  void run(std::span<std::byte* const> buffers, const Fusion& fusion) const override {
    const auto* a = reinterpret_cast<const float*>(buffers[0]);
    const auto* b = reinterpret_cast<const float*>(buffers[1]);
    auto* c = reinterpret_cast<float*>(buffers[2]);
    for (int64_t row = 0; row < kRows; row += rows_) {
      const int64_t rows = std::min(rows_, kRows - row);
      const float* near = a + row * kDepth;
      if (fusion.prologue) near = reinterpret_cast<const float*>((*fusion.prologue)(row, rows, keep_));
      for (int64_t column = 0; column < kColumns; column += columns_) {
        const int64_t columns = std::min(columns_, kColumns - column);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = column; j < column + columns; ++j) {
            float sum = 0;
            for (int64_t l = 0; l < kDepth; ++l)
              sum += near[i * kDepth + l] * b[l * kColumns + j];
            c[(row + i) * kColumns + j] = sum;
          }
        if (fusion.epilogue) (*fusion.epilogue)({row, rows, column, columns});
      }
    }
  }

 private:
  int64_t rows_, columns_;
  bool keep_;
};

// A kernel of two matrices of sizes[0] rows and sizes[1] columns, sizes[2] elements apart.
class RowKernel final : public CpuKernel {
 public:
  using Body = void (*)(const float* in, float* out, int64_t columns);
  RowKernel(Body body, int64_t out_step) : body_(body), out_step_(out_step) {}
  int run(std::span<std::byte* const> b, std::span<const int64_t> sizes, int64_t&) const override {
    for (int64_t i = 0; i < sizes[0]; ++i)
      body_(reinterpret_cast<const float*>(b[0]) + i * sizes[2], reinterpret_cast<float*>(b[1]) + i * out_step_,
            sizes[1]);
    return -1;
  }

 private:
  Body body_;
  int64_t out_step_;
};

Launch launch(RowKernel::Body body, int64_t out_step, std::vector<Place> buffers, std::vector<int64_t> sizes) {
  Launch l;
  l.kernel = std::make_shared<RowKernel>(body, out_step);
  l.buffers = std::move(buffers);
  l.sizes = std::move(sizes);
  return l;
}

Tensor numbers(int64_t n) {
  Tensor t = empty_tensor(DType::F32, {n});
  std::iota(reinterpret_cast<float*>(t.bytes_mut()), reinterpret_cast<float*>(t.bytes_mut()) + n, -3.0f);
  return t;
}

std::vector<float> values(const Tensor& t) {
  const auto* x = reinterpret_cast<const float*>(t.bytes());
  return {x, x + t.num_elems()};
}

constexpr Place kX{Place::Input, 0, 0}, kB{Place::Input, 1, 0}, kOut{Place::Output, 0, 0};
constexpr Place kA{Place::Scratch, 0, 0}, kC{Place::Scratch, 0, 128};

ProductStep product(int64_t rows, int64_t columns, bool keep) {
  ProductStep step;
  step.form = std::make_shared<Tiles>(rows, columns, keep);
  step.product.buffers = {kA, kB, kC};
  step.prologue = {{launch(
                        [](const float* in, float* out, int64_t n) {
                          for (int64_t j = 0; j < n; ++j)
                            out[j] = 2 * in[j];
                        },
                        kDepth, {kX, kA}, {kRows, kDepth, kDepth}),
                    {kDepth * 4, kDepth * 4},
                    1,
                    false}};
  return step;
}

// The result of the step, and of its launches one after the other.
void expect_same(ProductStep step, int64_t out_elements) {
  Plan plan;
  plan.outputs = {{DType::F32, {out_elements}, {1}, kOut}};
  plan.output_buffers = {{out_elements * 4, -1}};
  plan.scratch_bytes = 1024;
  const std::vector<Tensor> in{numbers(kRows * kDepth), numbers(kDepth * kColumns)};
  ProductStep alone;
  alone.form = step.form;
  alone.product.buffers = step.product.buffers;
  plan.steps = {step.prologue[0].launch, alone, step.epilogue[0].launch};
  const std::vector<float> expected = values(CpuRunner(plan).run(in)[0]);
  plan.steps = {step};
  EXPECT_EQ(values(CpuRunner(plan).run(in)[0]), expected);
}

TEST(ProductStep, AnyTilesGiveTheSame) {
  for (int64_t rows : {1, 2, 7})
    for (int64_t columns : {1, 4, 10})
      for (bool keep : {false, true})
        for (bool materialized : {false, true}) {
          SCOPED_TRACE(testing::Message() << rows << " " << columns << " " << keep << " " << materialized);
          ProductStep step = product(rows, columns, keep);
          step.prologue[0].materialized = materialized;
          step.epilogue = {{launch(
                                [](const float* in, float* out, int64_t n) {
                                  for (int64_t j = 0; j < n; ++j)
                                    out[j] = in[j] + 1;
                                },
                                kColumns, {kC, kOut}, {kRows, kColumns, kColumns}),
                            {kColumns * 4, 4, kColumns * 4, 4},
                            kColumns,
                            0}};
          expect_same(step, kRows * kColumns);
        }
}

// Totals of blocks that do not end with a row: blocks that no tile completes are totalled at the end.
TEST(ProductStep, BlocksOfElementsAreTakenWhenTheyAreComplete) {
  for (int64_t unit : {4, 7, 35})
    for (int64_t rows : {1, 3, 7})
      for (int64_t columns : {int64_t{5}, kColumns}) {
        SCOPED_TRACE(testing::Message() << unit << " " << rows << " " << columns);
        const int64_t blocks = kRows * kColumns / unit;
        ProductStep step = product(rows, columns, false);
        step.epilogue = {
            {launch([](const float* in, float* out, int64_t n) { *out = std::accumulate(in, in + n, 0.0f); }, 1,
                    {kC, kOut}, {blocks, unit, unit}),
             {unit * 4, 4, 4, 0},
             kColumns,
             unit}};
        expect_same(step, blocks);
      }
}

}  // namespace
}  // namespace sheaf::runtime

// Calls of a library as steps of a device: one by one and in graphs, at addresses that change. On a GPU, or with the
// fake libraries (ctest runtime_cuda). Matrices have one 1 or -1 in each row and column, and so have their products,
// which are exact and depend on the order of the factors.
#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/each_device.h"
#include "runtime/forwarding_device.h"

namespace sheaf::runtime {
namespace {

constexpr int64_t kSide = 64, kMatrixBytes = kSide * kSide * 2;

// Row i has `sign[i]` in column `column[i]`.
struct Matrix {
  std::array<int, kSide> column, sign;
};

Matrix random_matrix(Random& r) {
  Matrix m;
  std::iota(m.column.begin(), m.column.end(), 0);
  for (int i = kSide - 1; i > 0; --i)
    std::swap(m.column[static_cast<size_t>(i)], m.column[static_cast<size_t>(r.below(i + 1))]);
  for (int& s : m.sign)
    s = r.below(2) ? 1 : -1;
  return m;
}

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix out;
  for (size_t i = 0; i < kSide; ++i) {
    const auto l = static_cast<size_t>(a.column[i]);
    out.column[i] = b.column[l];
    out.sign[i] = a.sign[i] * b.sign[l];
  }
  return out;
}

Tensor tensor_of(const Matrix& m) {
  Tensor t = empty_tensor(DType::BF16, {kSide, kSide});
  auto* at = reinterpret_cast<uint16_t*>(t.bytes_mut());
  std::fill_n(at, kSide * kSide, 0);
  for (int64_t i = 0; i < kSide; ++i)
    at[i * kSide + m.column[static_cast<size_t>(i)]] = m.sign[static_cast<size_t>(i)] > 0 ? 0x3f80 : 0xbf80;
  return t;
}

LibraryProduct product() {
  constexpr LibraryProduct::Matrix kRows{true, kSide, 0}, kColumns{false, kSide, 0};
  return {DType::BF16, DType::BF16, 1, kSide, kSide, kSide, kRows, kColumns, kSide, kSide * kSide};
}

class ProductCode final : public DeviceCode {
 public:
  ProductCode(std::shared_ptr<const PlannedProduct> planned, int64_t workspace_bytes)
      : program_(std::make_shared<DeviceProgram>()) {
    using P = KernelParameter;
    program_->workspace_bytes = workspace_bytes;
    program_->steps.emplace_back(LibraryCall{{{P::Buffer, 0}, {P::Buffer, 1}, {P::Buffer, 2}, {P::Workspace}},
                                             [planned](std::span<const uint64_t> at, void* stream) {
                                               planned->submit(at[0], at[1], at[2], at[3], stream);
                                             }});
  }
  std::shared_ptr<const DeviceProgram> program(std::span<const int64_t>, LaunchForm) const override { return program_; }
  bool has_host_routines() const override { return false; }

 private:
  std::shared_ptr<DeviceProgram> program_;
};

struct Recording final : ForwardingDevice {
  using ForwardingDevice::ForwardingDevice;
  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    ++recorded;
    return ForwardingDevice::record(std::move(steps), after);
  }
  int recorded = 0;
};

class LibraryCalls : public EachDevice {
 protected:
  void SetUp() override {
    EachDevice::SetUp();
    if (IsSkipped()) return;
    planned_ = cuda_device(0).plan_product(product());
    if (!planned_) GTEST_SKIP() << "no cuBLASLt";
    use_workspace(planned_->workspace_bytes());
  }
  // Of products created from now on, as if they also copied their operands.
  void use_workspace(int64_t bytes) { code_ = std::make_shared<ProductCode>(planned_, bytes); }
  Launch multiply(Place a, Place b, Place c) const {
    Launch l = launch({{a, kMatrixBytes}, {b, kMatrixBytes}}, {{c, kMatrixBytes}});
    l.kernel = code_;
    l.buffers = {a, b, c};
    return l;
  }
  // Memory is reused, and some steps may run in parallel.
  Plan plan() const {
    Plan p;
    p.scratch_bytes = 3 * kMatrixBytes;
    const Place x = scratch(0), y = scratch(kMatrixBytes), z = scratch(2 * kMatrixBytes);
    p.steps = {multiply(input(0), input(1), x),  multiply(input(1), input(2), y), multiply(x, y, z),
               multiply(z, input(0), output(0)), multiply(z, input(2), x),        multiply(y, x, z),
               multiply(z, y, output(1))};
    for (int o = 0; o < 2; ++o) {
      p.outputs.push_back({DType::BF16, {kSide, kSide}, {kSide, 1}, output(o)});
      p.output_buffers.push_back({kMatrixBytes, -1});
    }
    return p;
  }
  static std::array<Matrix, 2> expected(const std::array<Matrix, 3>& in) {
    const Matrix y = in[1] * in[2], z = in[0] * in[1] * y;
    return {z * in[0], y * (z * in[2]) * y};
  }

  std::shared_ptr<const PlannedProduct> planned_;

 private:
  std::shared_ptr<const Code> code_;
};
INSTANTIATE_TEST_SUITE_P(, LibraryCalls, ::testing::Values("Cuda"),
                         [](const ::testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

TEST_P(LibraryCalls, AlgorithmsAreChosenOnce) { EXPECT_EQ(cuda_device(0).plan_product(product()), planned_); }

// The first run is step by step; later ones are graphs, recorded or updated for the current addresses.
TEST_P(LibraryCalls, RunInGraphsAtAnyAddress) {
  Recording device(cuda_device(0));
  const DeviceRunner runner(plan(), device);
  Random r(3);
  std::vector<std::vector<Tensor>> kept;  // results whose memory later runs do not reuse
  for (int run = 0; run < 24; ++run) {
    std::array<Matrix, 3> matrices;
    std::vector<Tensor> in;
    for (Matrix& m : matrices) {
      m = random_matrix(r);
      in.push_back(r.below(2) ? on(device, tensor_of(m)) : tensor_of(m));
    }
    const std::vector<Tensor> got = runner.run(in);
    const std::array<Matrix, 2> wanted = expected(matrices);
    for (size_t o = 0; o < 2; ++o)
      ASSERT_TRUE(equal(got[o], tensor_of(wanted[o]))) << "run " << run << ", output " << o;
    if (r.below(2)) kept.push_back(got);
  }
  EXPECT_GT(device.recorded, 0);
  EXPECT_LE(device.recorded, 4) << "graphs are changed, not recorded again";
}

// Two independent steps have a workspace each, unless it is large: then one waits for the other.
TEST_P(LibraryCalls, LargeWorkspacesAreShared) {
  auto workspace_of_two = [&](int64_t bytes) {
    use_workspace(bytes);
    Plan p = plan();
    p.steps.resize(2);
    const Segment segment(p, SegmentSteps{3, 0, 2, false, true, false}, cuda_device(0));
    EXPECT_EQ(segment.after()[1].size(), bytes < 1 << 20 ? 0u : 1u);
    return segment.workspace_bytes();
  };
  EXPECT_EQ(workspace_of_two(4096), 2 * 4096u);
  EXPECT_EQ(workspace_of_two(64 << 20), 64u << 20);
}

}  // namespace
}  // namespace sheaf::runtime

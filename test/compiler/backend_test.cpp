// A back end that looks to planning like another device: it has other facts, declines products with prologues and
// epilogues, and needs workspace. Its kernels run on the CPU.
#include "compiler/backend.h"

#include "fused_products.h"

namespace sheaf::compiler {
namespace {

class OtherDevice : public Backend {
 public:
  const runtime::Target& target() const override { return target_; }
  loop::Kernel prepared(loop::Kernel kernel) const override { return cpu_backend().prepared(std::move(kernel)); }
  std::shared_ptr<const runtime::Code> code(loop::Kernel kernel, KernelUse use, std::string text) const override {
    return cpu_backend().code(std::move(kernel), use, std::move(text));
  }
  std::shared_ptr<const runtime::Code> product(const ProductSpec& spec) const override {
    if ((spec.prologue && !takes_prologues) || (spec.epilogue && !takes_epilogues)) return nullptr;
    return cpu_backend().product(spec);
  }
  int64_t factor_line_bytes() const override { return factor_lines; }
  bool materializes_factors() const override { return false; }
  void refine_product(const routines::GemmArgs<>&, runtime::Launch&) const override {}
  int64_t workspace_bytes(const runtime::Launch& launch) const override {
    return launch.name.starts_with("dot") ? dot_workspace : 0;
  }
  std::shared_ptr<runtime::RunWatcher> new_watcher() const override { return nullptr; }
  bool find_code(const runtime::Plan&) const override { return false; }
  std::shared_ptr<const runtime::Runner> finish(runtime::Plan plan) const override {
    return cpu_backend().finish(std::move(plan));
  }
  std::string algorithm_text(const runtime::Launch&) const override { return "by luck"; }

  bool takes_prologues = true, takes_epilogues = true;
  int64_t dot_workspace = 0, factor_lines = 0;
  runtime::Target target_ = runtime::host_target();
};

class Backends : public FusedProducts {
 protected:
  // tanh(x) @ w + b
  static std::vector<graph::Operand> function(const std::vector<graph::Operand>& in) {
    return {ops::add(ops::dot(ops::apply1("tanh", in[0]), in[1]), in[2])};
  }
  void SetUp() override {
    FusedProducts::SetUp();
    ops::Rng rng(5);
    in_ = {ops::uniform_tensor(rng, DType::F32, {1, 600, 500}), ops::uniform_tensor(rng, DType::F32, {1, 500, 510}),
           ops::uniform_tensor(rng, DType::F32, {1, 1, 510})};
    expected_ = values_of(function({in_.begin(), in_.end()}));
  }
  Compiled planned(const OtherDevice& device) {
    Compiled code = compile(graph_of(in_, function), device);
    std::vector<Tensor> actual = run(code, in_);
    for (size_t i = 0; i < expected_.size(); ++i)
      EXPECT_TRUE(ops::same_bits(expected_[i], actual[i])) << "output " << i;
    return code;
  }
  static bool has(const Compiled& code, const OtherDevice& device, const char* what) {
    return plan_text(code.plan(), device).find(what) != std::string::npos;
  }
  std::vector<Tensor> in_, expected_;
};

TEST_F(Backends, SayWhatRunsInsideAProduct) {
  for (bool prologues : {false, true})
    for (bool epilogues : {false, true}) {
      OtherDevice device;
      device.takes_prologues = prologues;
      device.takes_epilogues = epilogues;
      Compiled code = planned(device);
      EXPECT_EQ(has(code, device, "prologue: "), prologues);
      EXPECT_EQ(has(code, device, "epilogue: "), epilogues);
      EXPECT_TRUE(has(code, device, "\n    by luck\n"));
    }
}

TEST_F(Backends, AreAskedForWorkspaceBeforeMemoryIsPlanned) {
  for (bool fused : {false, true}) {
    OtherDevice device;
    device.takes_prologues = device.takes_epilogues = fused;
    const size_t without = planned(device).plan().scratch_bytes;
    device.dot_workspace = 12345;
    Compiled code = planned(device);
    EXPECT_GE(code.plan().scratch_bytes, without + 12345);
    int found = 0;
    each_launch(code.plan(), [&](const runtime::Launch& l) {
      if (!l.name.starts_with("dot")) return;
      ++found;
      EXPECT_EQ(l.buffers.size(), 4u);
      EXPECT_EQ(l.writes.back().bytes, 12345);
    });
    EXPECT_EQ(found, 1);
  }
}

TEST_F(Backends, TheirTargetLimitsGroupsAndAlignsScratch) {
  OtherDevice device;
  device.target_.min_fused_product_elements = int64_t{1} << 40;
  device.target_.alignment_bytes = 4096;
  Compiled code = planned(device);
  EXPECT_FALSE(has(code, device, "prologue: ") || has(code, device, "epilogue: "));
  for (const runtime::Step& s : code.plan().steps)
    each_base(s, [&](const runtime::StepBase& b) {
      for (const runtime::Access& a : b.writes)
        EXPECT_TRUE(a.place.kind != runtime::Place::Scratch || a.place.offset % 4096 == 0) << b.name;
    });
}

// x, which only products read, has 67 columns and gets a leading dimension of 72. y is also an output, and a sum reads
// z: these two stay contiguous.
TEST_F(Backends, LinesOfFactorsBeginWhereTheyWantThem) {
  auto f = [](const std::vector<graph::Operand>& in) -> std::vector<graph::Operand> {
    const graph::Operand x = ops::apply1("tanh", in[0]), y = ops::apply1("tanh", in[1]), z = ops::apply1("tanh", in[2]);
    return {ops::dot(x, in[3]), ops::dot(ops::transpose(x, {0, 2, 1}), in[4]),
            ops::dot(y, in[3]), y,
            ops::dot(z, in[3]), ops::sum(z, {1, 2})};
  };
  ops::Rng rng(7);
  std::vector<Tensor> in;
  for (const Dims& sizes : {Dims{1, 40, 67}, Dims{1, 40, 67}, Dims{1, 40, 67}, Dims{1, 67, 30}, Dims{1, 40, 30}})
    in.push_back(ops::uniform_tensor(rng, DType::BF16, sizes));
  const std::vector<Tensor> expected = values_of(f({in.begin(), in.end()}));
  for (int64_t lines : {0, 16}) {
    OtherDevice device;
    device.takes_prologues = device.takes_epilogues = false;
    device.factor_lines = lines;
    const Compiled code = compile(graph_of(in, f), device);
    const std::vector<Tensor> actual = run(code, in);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(ops::same_bits(expected[i], actual[i])) << "output " << i;
    int padded = 0;
    each_launch(code.plan(), [&](const runtime::Launch& l) {
      for (const runtime::Access& a : l.writes)
        padded += a.bytes == (39 * 72 + 67) * 2;
    });
    EXPECT_EQ(padded, lines ? 1 : 0);
  }
}

}  // namespace
}  // namespace sheaf::compiler

// One plan run by many threads at once, and checking runs against the block executor.
#include <gtest/gtest.h>

#include <thread>

#include "compiler/check.h"
#include "compiler/compile.h"
#include "ops/apply.h"
#include "ops/op_cases.h"
#include "runtime/cpu_runner.h"
#include "runtime/thread_pool.h"
#include "trace/traced.h"
#include "transforms/vjp.h"

namespace sheaf::compiler {
namespace {

using namespace ops;
using graph::Graph;
using graph::Node;

Ref<Node> input_node(const Tensor& t) {
  return make_ref<Node>(&op("input"), Attrs{}, std::vector<Operand>{},
                        std::vector<TensorType>{{t.dtype, to_sizes(t.sizes)}});
}

Tensor numbers(Dims sizes, int seed) {
  Tensor t = empty_tensor(DType::F32, sizes);
  auto* x = reinterpret_cast<float*>(t.bytes_mut());
  for (int64_t i = 0; i < t.num_elems(); ++i)
    x[i] = static_cast<float>(((i + seed) * 7919) % 1009) / 1009.0f - 0.5f;
  return t;
}

// A layer with its gradients: products large enough for several threads, a fused row kernel, reductions.
Compiled layer(const Tensor& x, const Tensor& w) {
  Graph g;
  for (const Tensor* t : {&x, &w})
    g.inputs.push_back(input_node(*t));
  Operand a(g.inputs[0], 0), b(g.inputs[1], 0);
  Operand y = graph::apply(op("dot"), {a, b});
  Operand e = graph::apply(op("exp"), {graph::apply(op("tanh"), {y})});
  Operand total = sum_all(mul(e, y));
  g.outputs = {e, total};
  for (Operand& d : transforms::vjp({total}, {full(total.type(), 1)}, {a, b}, true))
    g.outputs.push_back(d);
  return compile(g);
}

TEST(Threads, EightRunOnePlanWithTheBitsOfOne) {
  trace::install();
  Tensor x = numbers({2, 96, 160}, 1), w = numbers({2, 160, 200}, 2);
  Compiled code = layer(x, w);
  std::vector<Tensor> in = {x, w};
  int before = runtime::num_threads();
  runtime::set_num_threads(1);
  std::vector<Tensor> expected = run(code, in);
  runtime::set_num_threads(8);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 60; ++turn) {
        std::vector<Tensor> out = run(code, in);
        for (size_t i = 0; i < out.size(); ++i)
          wrong += !same_bits(out[i], expected[i]);
      }
      runtime::release_scratch();
    });
  for (auto& t : threads)
    t.join();
  runtime::set_num_threads(before);
  EXPECT_EQ(wrong, 0);
}

// Adds one to each element; the native code is wrong for one of them.
class Faulty final : public CheckableKernel {
 public:
  explicit Faulty(int64_t wrong) : wrong_(wrong) { kernel_.buffers = {{DType::F32, false}, {DType::F32, true}}; }
  int run(std::span<std::byte* const> b, std::span<const int64_t> sizes, int64_t& payload) const override {
    run_block(b, sizes, payload);
    if (wrong_ >= 0) reinterpret_cast<float*>(b[1])[wrong_] += 1;
    return -1;
  }
  int run_block(std::span<std::byte* const> b, std::span<const int64_t> sizes, int64_t&) const override {
    for (int64_t i = 0; i < sizes[0]; ++i)
      reinterpret_cast<float*>(b[1])[i] = reinterpret_cast<float*>(b[0])[i] + 1;
    return -1;
  }
  const loop::Kernel& kernel() const override { return kernel_; }

 private:
  int64_t wrong_;
  loop::Kernel kernel_;
};

TEST(Check, NamesTheLaunchAndTheElement) {
  using runtime::Place;
  runtime::Plan plan;
  plan.output_buffers = {{40, -1}};
  plan.outputs = {{DType::F32, {10}, {1}, {Place::Output, 0, 0}}};
  plan.scratch_bytes = 64;
  auto add = [&](const char* name, int64_t wrong, Place from, Place to) {
    runtime::Launch l;
    l.name = name;
    l.kernel = std::make_shared<Faulty>(wrong);
    l.buffers = {from, to};
    l.sizes = {10};
    plan.steps.push_back(l);
  };
  add("first", -1, {Place::Input, 0, 0}, {Place::Scratch, 0, 0});
  add("second", 7, {Place::Scratch, 0, 0}, {Place::Output, 0, 0});
  check_everything();
  Tensor in[] = {numbers({10}, 0)};
  try {
    runtime::CpuRunner(plan).run(in);
    ADD_FAILURE() << "nothing was found";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("second"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("element 7 of its array 1"), std::string::npos) << error.what();
  }
  std::get<runtime::Launch>(plan.steps[1]).kernel = std::make_shared<Faulty>(-1);
  EXPECT_TRUE(same_bits(runtime::CpuRunner(plan).run(in)[0], [&] {
    Tensor t = numbers({10}, 0);
    for (int i = 0; i < 10; ++i)
      reinterpret_cast<float*>(t.bytes_mut())[i] = reinterpret_cast<const float*>(t.bytes())[i] + 1 + 1;
    return t;
  }()));
  runtime::g_run_steps = nullptr;
}

}  // namespace
}  // namespace sheaf::compiler

// Plans built by hand: the effect of each kind of step, the ownership of memory, and the state after a failed check or
// a stop.
#include "runtime/cpu_runner.h"

#include <gtest/gtest.h>

#include "runtime/profiler.h"

namespace sheaf::runtime {
namespace {

constexpr Place input(int i, int64_t offset = 0) { return {Place::Input, i, offset}; }
constexpr Place output(int i, int64_t offset = 0) { return {Place::Output, i, offset}; }
constexpr Place scratch(int64_t offset) { return {Place::Scratch, 0, offset}; }

// out[i] = in[i] + step for sizes[0] elements; fails its check at an element below 0.
class Add final : public CpuKernel {
 public:
  explicit Add(float step) : step_(step) {}
  int run(std::span<std::byte* const> b, std::span<const int64_t> sizes, int64_t& payload) const override {
    const auto* in = reinterpret_cast<const float*>(b[0]);
    auto* out = reinterpret_cast<float*>(b[1]);
    for (int64_t i = 0; i < sizes[0]; ++i) {
      if (in[i] < 0) {
        payload = i;
        return 3;
      }
      out[i] = in[i] + step_;
    }
    return -1;
  }

 private:
  float step_;
};

// out = in < limit, of one element each.
class Below final : public CpuKernel {
 public:
  explicit Below(float limit) : limit_(limit) {}
  int run(std::span<std::byte* const> b, std::span<const int64_t>, int64_t&) const override {
    *b[1] = std::byte{*reinterpret_cast<const float*>(b[0]) < limit_};
    return -1;
  }

 private:
  float limit_;
};

Launch add(float step, Place from, Place to, int64_t n = 2) {
  Launch l;
  l.name = "add";
  l.label = 7;
  l.kernel = std::make_shared<Add>(step);
  l.buffers = {from, to};
  l.sizes = {n};
  return l;
}

Tensor floats(std::vector<float> x) {
  Tensor t = empty_tensor(DType::F32, {static_cast<int64_t>(x.size())});
  std::copy(x.begin(), x.end(), reinterpret_cast<float*>(t.bytes_mut()));
  return t;
}
std::vector<float> values(const Tensor& t) {
  const auto* x = reinterpret_cast<const float*>(t.bytes());
  return {x, x + t.num_elems()};
}

// A plan of these steps with one output of n floats.
Plan plan_of(std::vector<Step> steps, int64_t n = 2) {
  Plan p;
  p.steps = std::move(steps);
  p.outputs = {{DType::F32, {n}, {1}, output(0)}};
  p.output_buffers = {{n * 4, -1}};
  p.scratch_bytes = 1024;
  return p;
}
std::shared_ptr<const Plan> shared(Plan p) { return std::make_shared<const Plan>(std::move(p)); }
// An iteration of a loop: out 0 = in `from` + step.
std::shared_ptr<const Plan> body(float step, int from) { return shared(plan_of({add(step, input(from), output(0))})); }

std::vector<float> run(const Plan& plan, const std::vector<Tensor>& in) { return values(CpuRunner(plan).run(in)[0]); }

TEST(CpuRunner, StepsRunInOrder) {
  EXPECT_EQ(run(plan_of({add(1, input(0), scratch(64)), add(10, scratch(64), output(0))}), {floats({1, 2})}),
            (std::vector<float>{12, 13}));
}

TEST(CpuRunner, AnOutputTakesOverWhatIsGivenUp) {
  Plan p = plan_of({add(1, input(0), output(0))});
  p.output_buffers[0].donor = 0;
  CpuRunner runner(p);
  Tensor x = floats({1, 2});
  std::vector<Tensor> in{x};
  EXPECT_NE(runner.run(in)[0].buffer.get(), x.buffer.get());
  uint8_t given_up[] = {1};
  Tensor out = runner.run(in, given_up)[0];
  EXPECT_EQ(out.buffer.get(), x.buffer.get());
  EXPECT_EQ(values(out), (std::vector<float>{2, 3}));
}

TEST(CpuRunner, AFailedCheckNamesItsStep) {
  Plan nested = plan_of({add(1, input(0), output(0))});
  CallStep call;
  call.body = shared(nested);
  call.num_inputs = call.num_outputs = 1;
  call.buffers = {input(0), output(0), scratch(0)};
  for (const Plan& p : {nested, plan_of({call})}) {
    try {
      run(p, {floats({1, -1})});
      ADD_FAILURE() << "no check failed";
    } catch (const CheckFailure& f) {
      EXPECT_EQ(f.label, 7);
      EXPECT_EQ(f.site, 3);
      EXPECT_EQ(f.payload, 1);
    }
  }
}

TEST(CpuRunner, StopsBetweenSteps) {
  static int asked;
  asked = 0;
  g_stop_requested = [] { return ++asked == 2; };
  EXPECT_THROW(run(plan_of({add(1, input(0), scratch(0)), add(1, scratch(0), output(0))}), {floats({1, 2})}), Stopped);
  g_stop_requested = nullptr;
  EXPECT_EQ(asked, 2);
}

TEST(CpuRunner, CopiesRows) {
  CopyStep copy;
  copy.buffers = {input(1), output(0), input(0), output(0, 8)};
  copy.size_bytes = 8;
  EXPECT_EQ(run(plan_of({copy}, 4), {floats({1, 2}), floats({3, 4})}), (std::vector<float>{3, 4, 1, 2}));
}

TEST(CpuRunner, AHostCallGetsCopies) {
  std::vector<Tensor> seen;
  HostStep host;
  host.call = std::make_shared<const std::function<void(std::span<const Tensor>)>>(
      [&](std::span<const Tensor> x) { seen.assign(x.begin(), x.end()); });
  host.arguments = {{DType::F32, {2}}};
  host.buffers = {scratch(0)};
  run(plan_of({add(1, input(0), scratch(0)), host, add(5, input(0), scratch(0)), add(0, scratch(0), output(0))}),
      {floats({1, 2})});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(values(seen[0]), (std::vector<float>{2, 3}));
}

TEST(CpuRunner, ABranchRunsOneOfTwoPlans) {
  CondStep cond;
  cond.yes = body(1, 0);
  cond.no = body(100, 0);
  cond.num_inputs = 2;
  cond.num_outputs = 1;
  cond.buffers = {scratch(0), input(0), output(0), scratch(64)};
  Launch test;
  test.kernel = std::make_shared<Below>(5);
  test.buffers = {input(0), scratch(0)};
  Plan p = plan_of({test, cond});
  EXPECT_EQ(run(p, {floats({4, 0})}), (std::vector<float>{5, 1}));
  EXPECT_EQ(run(p, {floats({6, 0})}), (std::vector<float>{106, 100}));
}

// carry' = carry + 1 and y = x + 10, from row to row.
TEST(CpuRunner, AScanAlternatesCarriesAndWalksRows) {
  for (int64_t turns : {0, 1, 4, 5})
    for (bool reverse : {false, true}) {
      Plan inner = plan_of({add(1, input(1), output(0)), add(10, input(2), output(1), 1)});
      ScanStep scan;
      scan.body = shared(inner);
      scan.turns = turns;
      scan.reverse = reverse;
      scan.num_inputs = 2;
      scan.carries = {{8}, {0}, 64};
      scan.x_bytes = scan.y_bytes = {4};
      scan.buffers = {input(0), input(1), output(0), output(1), scratch(0)};
      Plan p = plan_of({scan});
      p.outputs.push_back({DType::F32, {turns}, {1}, output(1)});
      p.output_buffers.push_back({turns * 4, -1});
      std::vector<float> rows;
      for (int64_t i = 0; i < turns; ++i)
        rows.push_back(static_cast<float>(i));
      std::vector<Tensor> out = CpuRunner(p).run(std::vector{floats({1, 2}), floats(rows)});
      EXPECT_EQ(values(out[0]),
                (std::vector<float>{1.0f + static_cast<float>(turns), 2.0f + static_cast<float>(turns)}));
      for (float& x : rows)
        x += 10;
      EXPECT_EQ(values(out[1]), rows);
    }
}

TEST(CpuRunner, AWhileRunsAsLongAsItsTestSays) {
  WhileStep loop;
  Launch test;
  test.kernel = std::make_shared<Below>(5);
  test.buffers = {input(0), output(0)};
  loop.test = shared(plan_of({test}));
  loop.body = body(2, 0);
  loop.num_inputs = 1;
  loop.carries = {{8}, {0}, 64};
  loop.buffers = {input(0), output(0), scratch(0)};
  EXPECT_EQ(run(plan_of({loop}), {floats({0, 1})}), (std::vector<float>{6, 7}));
  EXPECT_EQ(run(plan_of({loop}), {floats({9, 1})}), (std::vector<float>{9, 1}));
  // Its backward plan runs once for each iteration, with the adjoint as the last input.
  loop.reverse = body(100, 1);
  loop.adjoints = {{8}, {0}, 64};
  loop.buffers = {input(0), input(1), output(0), scratch(0)};
  EXPECT_EQ(run(plan_of({loop}), {floats({0, 1}), floats({1, 1})}), (std::vector<float>{301, 301}));
  EXPECT_EQ(run(plan_of({loop}), {floats({9, 1}), floats({1, 1})}), (std::vector<float>{1, 1}));
}

TEST(CpuRunner, TheProfilerSeesStepsAndWhatIsInThem) {
  g_profiling = true;
  CallStep call;
  call.name = "call";
  call.body = body(1, 0);
  call.num_inputs = call.num_outputs = 1;
  call.buffers = {input(0), output(0), scratch(0)};
  run(plan_of({call}), {floats({1, 2})});
  g_profiling = false;
  std::vector<std::string> names;
  for (const KernelTime& t : kernel_times())
    names.push_back(t.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"add", "call"}));
}

}  // namespace
}  // namespace sheaf::runtime

// Plans as graphs: random plans that reuse memory heavily have the results of the CPU, for any order of independent
// steps and any addresses. On the simulated device, and on a GPU if there is one, or with the fake driver (ctest
// runtime_cuda). Faults: a missing edge, a lost change of addresses, a launch that is not guarded.
#include <fmt/format.h>

#include <cstdlib>

#include "runtime/each_device.h"
#include "runtime/forever.h"
#include "runtime/forwarding_device.h"

namespace sheaf::runtime {
namespace {

struct Graphs : EachDevice {};
SHEAF_EACH_DEVICE(Graphs);

TEST_P(Graphs, RandomPlansHaveTheResultsOfTheProcessor) {
  for (uint64_t seed = 1; seed <= (is_cuda() ? 25 : 100); ++seed)
    ASSERT_EQ(
        wrong_answers(MixPlans(mix_on_cpu).random(seed, seed % 2), plans().random(seed, seed % 2), device(), seed), 0)
        << "seed " << seed;
}

TEST_P(Graphs, ScansAreUnrolled) {
  for (int64_t turns : {0, 1, 4, 5, is_cuda() ? 100 : 1500})
    for (bool reverse : {false, true}) {
      const Plan here = MixPlans(mix_on_cpu).scan(turns, reverse);
      const DeviceRunner runner(plans().scan(turns, reverse), device());
      Random r(7);
      for (int n = 0; n < 3; ++n) {
        const std::vector<Tensor> in = {random_numbers(r), random_numbers(r, turns * kElements)},
                                  expected = CpuRunner(here).run(in), got = runner.run(in);
        for (size_t o = 0; o < 2; ++o)
          ASSERT_TRUE(equal(got[o], expected[o])) << turns << " turns, run " << n;
      }
    }
}

struct Counting final : ForwardingDevice {
  using ForwardingDevice::ForwardingDevice;
  void submit(DeviceStep step) override {
    ++steps;
    ForwardingDevice::submit(std::move(step));
  }
  void submit(DeviceGraph& graph) override {
    ++graphs;
    ForwardingDevice::submit(graph);
  }
  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> all,
                                      const std::vector<std::vector<int>>& after) override {
    ++recorded;
    return ForwardingDevice::record(std::move(all), after);
  }
  void fetch_all(std::span<const Fetch> pieces, Waiting how) override {
    ++waits;
    to_.fetch_all(pieces, how);
  }
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    ++sent;
    ForwardingDevice::send(from, to, bytes);
  }
  int steps = 0, graphs = 0, recorded = 0, waits = 0, sent = 0;
};

// In the second run and later ones. A check and a number that the host needs: one wait for both; neither: none. Small
// inputs are sent together.
TEST_P(Graphs, OneLaunchAndAtMostOneWait) {
  for (bool checks : {false, true})
    for (bool wanted : {false, true}) {
      auto& counting = testing::forever<Counting>(device());
      const MixPlans m = plans();
      Plan p;
      p.steps = {m.mix(1, input(0), input(1), scratch(0), checks ? 1 << 30 : 0),
                 m.mix(2, scratch(0), input(2), output(0)), m.mix(3, scratch(0), scratch(0), output(1))};
      p.scratch_bytes = kBytes;
      p.outputs = {{DType::U32, {kElements}, {1}, output(0)}, {DType::U32, {}, {}, output(1)}};
      p.output_buffers = {{kBytes, -1}, {kBytes, -1}};
      const DeviceRunner runner(p, counting);
      Random r(1);
      const std::vector<Tensor> in = {random_numbers(r), random_numbers(r), random_numbers(r)};
      const std::vector<uint8_t> wanted_here = {0, wanted};
      std::vector<std::vector<Tensor>> out = {runner.run(in, {}, wanted_here)};
      EXPECT_EQ(counting.steps, 3);
      counting.steps = counting.waits = 0;
      for (int n = 0; n < 10; ++n)
        out.push_back(runner.run(in, {}, wanted_here));
      EXPECT_EQ(counting.steps, 0);
      EXPECT_EQ(counting.graphs, 10);
      EXPECT_EQ(counting.sent, 11);
      EXPECT_LE(counting.recorded, 4);
      EXPECT_EQ(counting.waits, checks || wanted ? 10 : 0);
      for (const auto& o : out) {
        EXPECT_EQ(o[1].buffer->is_on_host(), wanted);
        EXPECT_FALSE(o[0].buffer->is_on_host());
        EXPECT_EQ(o[1].data<uint32_t>()[0], out[0][1].data<uint32_t>()[0]);
      }
    }
}

// The cost of a launch, one by one and in a graph, in a chain and in four independent chains.
TEST_P(Graphs, Rates) {
  if (!std::getenv("SHEAF_RATES")) GTEST_SKIP() << "SHEAF_RATES is not set";
  constexpr int kLaunches = 400, kRuns = 50;
  for (int chains : {1, 4}) {
    const MixPlans m = plans();
    Plan p;
    p.scratch_bytes = 4 * kBytes;
    for (int i = 0; i < kLaunches; ++i)
      p.steps.push_back(
          m.mix(1, i < chains ? input(0) : scratch(i % chains * kBytes), input(0), scratch(i % chains * kBytes)));
    for (bool graphs : {false, true}) {
      set_test_options("", graphs ? "plain:1" : "plain:1000000", "", nullptr);
      const DeviceRunner runner(p, device());
      Random r(1);
      const std::vector<Tensor> in = {on(device(), random_numbers(r))};
      auto run = [&](int times) {
        const auto begin = std::chrono::steady_clock::now();
        for (int n = 0; n < times; ++n)
          runner.run(in);
        device().wait(device().mark());
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / times;
      };
      run(3);
      fmt::print("{} chains, {}: {:.2f} us a launch\n", chains, graphs ? "a graph" : "one by one",
                 run(kRuns) / kLaunches);
    }
  }
  set_test_options("", "plain:1", "", nullptr);
}

// Planted faults. Each device below leaves something out; some plan must notice.

struct WithoutAnEdge final : ForwardingDevice {
  using ForwardingDevice::ForwardingDevice;
  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    auto fewer = after;
    for (size_t i = fewer.size(); i-- > 0;)
      if (!fewer[i].empty()) {
        fewer[i].pop_back();
        break;
      }
    return ForwardingDevice::record(std::move(steps), fewer);
  }
};

struct Stubborn final : DeviceGraph {
  explicit Stubborn(std::unique_ptr<DeviceGraph> g) : graph(std::move(g)) {}
  bool replace(size_t number, const DeviceStep& step) override { return number == 9 || graph->replace(number, step); }
  std::unique_ptr<DeviceGraph> graph;
};
struct LosesAChange final : ForwardingDevice {
  using ForwardingDevice::ForwardingDevice;
  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    return std::make_unique<Stubborn>(ForwardingDevice::record(std::move(steps), after));
  }
  using ForwardingDevice::submit;
  void submit(DeviceGraph& graph) override { ForwardingDevice::submit(*static_cast<Stubborn&>(graph).graph); }
};

struct WithoutGuards final : ForwardingDevice {
  using ForwardingDevice::ForwardingDevice;
  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    for (DeviceStep& s : steps)
      if (auto* l = std::get_if<DeviceLaunch>(&s)) l->guarded = false;
    return ForwardingDevice::record(std::move(steps), after);
  }
};

struct PlantedFaults : EachDevice {
  static int wrong_plans(Device& device) {
    int wrong = 0;
    for (uint64_t seed = 1; seed <= (is_cuda() ? 12 : 40); ++seed)
      wrong += wrong_answers(MixPlans(mix_on_cpu).random(seed, false), plans().random(seed, false), device, seed) > 0;
    return wrong;
  }
};
SHEAF_EACH_DEVICE(PlantedFaults);

TEST_P(PlantedFaults, AMissingEdge) { EXPECT_GT(wrong_plans(testing::forever<WithoutAnEdge>(device())), 0); }
TEST_P(PlantedFaults, ALostChange) { EXPECT_GT(wrong_plans(testing::forever<LosesAChange>(device())), 0); }
TEST_P(PlantedFaults, AMissingGuard) { EXPECT_GT(wrong_plans(testing::forever<WithoutGuards>(device())), 0); }
TEST_P(PlantedFaults, NoneIsFoundWhereThereIsNone) {
  EXPECT_EQ(wrong_plans(testing::forever<ForwardingDevice>(device())), 0);
}

}  // namespace
}  // namespace sheaf::runtime

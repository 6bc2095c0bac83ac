// Plans on the simulated device: the results of the host, in memory that the host cannot follow. And faults: what a
// host that follows an address, does not wait, or loses a donation would see.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "runtime/device_runner.h"
#include "runtime/forever.h"
#include "runtime/forwarding_device.h"
#include "runtime/idle_memory.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

constexpr Place input(int i) { return {Place::Input, i, 0}; }
constexpr Place output(int i) { return {Place::Output, i, 0}; }

// out[i] = in[i] + 1; fails its check at an element below 0.
class AddOne final : public CpuKernel {
 public:
  int run(std::span<std::byte* const> b, std::span<const int64_t> sizes, int64_t& payload) const override {
    const auto* in = reinterpret_cast<const float*>(b[0]);
    auto* out = reinterpret_cast<float*>(b[1]);
    for (int64_t i = 0; i < sizes[0]; ++i) {
      if (in[i] < 0) {
        payload = i;
        return 3;
      }
      out[i] = in[i] + 1;
    }
    return -1;
  }
};

Launch add_one(Place from, Place to, int64_t n, bool checks) {
  Launch l;
  l.name = "add";
  l.label = 7;
  l.checks = checks;
  l.kernel = std::make_shared<AddOne>();
  l.buffers = {from, to};
  l.reads = {{from, n * 4}};
  l.writes = {{to, n * 4}};
  l.sizes = {n};
  return l;
}

// `times` additions of 1, in the memory of the input where that is given up.
Plan plan_of(int64_t n, int times, bool checks = false) {
  Plan p;
  p.steps.push_back(add_one(input(0), output(0), n, checks));
  for (int i = 1; i < times; ++i)
    p.steps.push_back(add_one(output(0), output(0), n, false));
  p.outputs = {{DType::F32, {n}, {1}, output(0)}};
  p.output_buffers = {{n * 4, 0}};
  return p;
}

Tensor floats(std::vector<float> x) { return tensor_of(DType::F32, {static_cast<int64_t>(x.size())}, x.data()); }
std::vector<float> values(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.num_elems()}; }

Device& sim() { return simulated_device("seed:1"); }

TEST(Sim, RunsAPlanWithTheResultsOfTheHost) {
  DeviceRunner runner(plan_of(3, 5), sim());
  std::vector<Tensor> in = {floats({1, 2, 3})};
  std::vector<Tensor> out = runner.run(in);
  EXPECT_EQ(&out[0].buffer->home(), &sim());
  EXPECT_EQ(values(out[0]), (std::vector<float>{6, 7, 8}));
  EXPECT_EQ(values(runner.run(out)[0]), (std::vector<float>{11, 12, 13}));
}

Tensor on_sim(std::vector<float> x) {
  const Tensor t = floats(std::move(x));
  Tensor out = empty_tensor(sim(), t.dtype, t.sizes);
  sim().send(t.bytes(), out.buffer->address(), static_cast<size_t>(t.num_elems()) * 4);
  return out;
}

// A step that may fail, then one that writes to memory that was given up.
TEST(Sim, ReportsTheCheckThatFailedAndKeepsWhatWasGivenUp) {
  Plan p = plan_of(2, 1);
  p.steps = {add_one(input(0), {Place::Scratch, 0, 0}, 2, true), add_one({Place::Scratch, 0, 0}, output(0), 2, false)};
  p.scratch_bytes = 8;
  DeviceRunner runner(std::move(p), sim());
  const uint8_t given_up[] = {1};
  const std::vector<Tensor> bad = {on_sim({1, -2})};
  try {
    runner.run(bad, given_up);
    FAIL() << "no check failed";
  } catch (const CheckFailure& f) {
    EXPECT_EQ(f.label, 7);
    EXPECT_EQ(f.site, 3);
    EXPECT_EQ(f.payload, 1);
  }
  EXPECT_EQ(values(bad[0]), (std::vector<float>{1, -2}));
  const std::vector<Tensor> good = {on_sim({1, 2})};
  EXPECT_EQ(values(runner.run(good, given_up)[0]), (std::vector<float>{3, 4}));
  EXPECT_EQ(values(good[0]), (std::vector<float>{3, 4}));
}

// A step that ends when it is told to: until then the device has run nothing of what comes after it.
class Gate final : public CpuKernel {
 public:
  int run(std::span<std::byte* const>, std::span<const int64_t>, int64_t&) const override {
    open.wait(false);
    return -1;
  }
  std::atomic<bool> open = false;
};

TEST(Sim, StopsWhileItWaits) {
  const auto gate = std::make_shared<Gate>();
  sim().submit(DeviceLaunch{gate, {}, {}});
  static std::atomic<int> looks = 0;
  g_stop_requested = [] { return ++looks > 5; };
  std::vector<Tensor> in = {floats({1, 2})};
  EXPECT_THROW(DeviceRunner(plan_of(2, 1, true), sim()).run(in), Stopped);
  g_stop_requested = nullptr;
  gate->open = true;
  gate->open.notify_all();
  sim().wait(sim().mark());
}

TEST(Sim, StopsBetweenSubmissions) {
  g_stop_requested = [] { return true; };
  std::vector<Tensor> in = {floats({1})};
  EXPECT_THROW(DeviceRunner(plan_of(1, 1), sim()).run(in), Stopped);
  g_stop_requested = nullptr;
}

TEST(Sim, OutOfMemoryIsAnErrorOfTheUser) {
  for (int n : {1, 2}) {
    const DeviceRunner runner(plan_of(4, 2), sim());
    std::vector<Tensor> in = {floats({1, 2, 3, 4})};
    simulated_device("oom:" + std::to_string(n));
    EXPECT_THROW(runner.run(in), UserError) << n;
    EXPECT_EQ(values(runner.run(in)[0]), (std::vector<float>{3, 4, 5, 6}));
  }
}

// Copies of arrays that live on the host, and graphs.
TEST(Sim, IdleMemoryIsFreedFirst) {
  const DeviceRunner runner(plan_of(4, 2), sim());
  std::vector<Tensor> in = {floats({1, 2, 3, 4})};
  const std::vector<float> expected = {3, 4, 5, 6};
  const Tensor large = floats(std::vector<float>(1 << 16, 1));
  const size_t before = sim().memory_use().in_use;
  auto copy_there = [&] {
    DeviceUse use;
    return large.buffer->in(sim());
  };
  for (int n : {1, 2}) {
    copy_there();
    EXPECT_GE(sim().memory_use().in_use, before + (4 << 16));
    simulated_device("oom:" + std::to_string(n));
    EXPECT_EQ(values(runner.run(in)[0]), expected);
    EXPECT_LT(sim().memory_use().in_use, before + (4 << 16));
  }
  for (int i = 0; i < 3; ++i)
    runner.run(in);  // by now as graphs
  simulated_device("oom:1");
  EXPECT_EQ(values(runner.run(in)[0]), expected);
  // Nothing is freed while addresses are in use.
  copy_there();
  {
    DeviceUse use;
    EXPECT_FALSE(free_idle_memory(sim()));
    simulated_device("oom:1");
    EXPECT_THROW(Buffer::allocate(sim(), 4), OutOfDeviceMemory);
  }
  EXPECT_TRUE(free_idle_memory(sim()));
  EXPECT_FALSE(free_idle_memory(sim()));
}

TEST(Sim, RefusesOptionsThatItDoesNotKnow) {
  for (const char* options : {"seed", "oom:", "oom:x", "speed:3", "seed:1,,oom:2"})
    EXPECT_THROW(simulated_device(options), UserError) << options;
}

TEST(Placement, ByElementsAndByWhereTheInputsAre) {
  EXPECT_EQ(device_for(true, kWorthDevice), nullptr);  // no device
  g_device = &sim();
  EXPECT_EQ(device_for(false, kWorthDevice - 1), nullptr);
  EXPECT_EQ(device_for(false, kWorthDevice), &sim());
  EXPECT_EQ(device_for(true, 1), &sim());
  {
    PlacementScope host(Placement::Host);
    EXPECT_EQ(device_for(true, kWorthDevice), nullptr);
    PlacementScope device(Placement::Device);
    EXPECT_EQ(device_for(false, 1), &sim());
  }
  EXPECT_EQ(device_for(false, 1), nullptr);
  g_device = nullptr;
}

// Planted faults.

TEST(FaultsOfTheHost, HostCodeThatFollowsAnAddressDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        std::vector<Tensor> in = {floats({1, 2, 3})};
        const Tensor out = DeviceRunner(plan_of(3, 1), sim()).run(in)[0];
        volatile float stray = *reinterpret_cast<const float*>(out.buffer->address());
        (void)stray;
      },
      "");
}

// The simulated device, but for one thing: nobody waits.
struct Impatient final : ForwardingDevice {
  using ForwardingDevice::ForwardingDevice;
  bool wait_for(Event, std::chrono::microseconds) override { return true; }
};

TEST(FaultsOfTheHost, AMissingWaitShowsAsWrongValues) {
  constexpr int kTimes = 300;
  std::vector<Tensor> in = {floats({1, 2})};
  const std::vector<float> expected = {1 + kTimes, 2 + kTimes};
  EXPECT_EQ(values(DeviceRunner(plan_of(2, kTimes), sim()).run(in)[0]), expected);
  auto& impatient = testing::forever<Impatient>(sim());
  const auto gate = std::make_shared<Gate>();
  sim().submit(DeviceLaunch{gate, {}, {}});
  EXPECT_NE(values(DeviceRunner(plan_of(2, kTimes), impatient).run(in)[0]), expected);
  gate->open = true;
  gate->open.notify_all();
  sim().wait(sim().mark());
}

// Whether the output has taken over the memory of the input.
bool updates_in_place(std::span<const uint8_t> given_up) {
  DeviceRunner runner(plan_of(2, 1), sim());
  const std::vector<Tensor> first = runner.run(std::vector<Tensor>{floats({1, 2})});
  const std::vector<Tensor> second = runner.run(first, given_up);
  EXPECT_EQ(values(second[0]), (std::vector<float>{3, 4}));
  return second[0].buffer->address() == first[0].buffer->address();
}

TEST(FaultsOfTheHost, ALostDonationShowsInTheAddress) {
  const uint8_t given_up[] = {1};
  EXPECT_TRUE(updates_in_place(given_up));
  EXPECT_FALSE(updates_in_place({}));
}

}  // namespace
}  // namespace sheaf::runtime

// The simulated device. Steps run in order on a separate thread after pseudo-random delays (seeded), so that a missing
// wait shows as wrong bits. Memory comes from sim_memory.h. Kernels are those of this processor.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "runtime/device.h"
#include "runtime/idle_memory.h"
#include "runtime/sim_memory.h"
#include "support/error.h"
#include "support/mutex.h"
#include "tensor/tensor.h"

namespace sheaf::runtime {
namespace {

// Fresh memory is filled with this byte, so that a value read too early differs from any that a program computes.
constexpr int kFresh = 0xcd;
constexpr size_t kMaxFilled = 1 << 16;

// A graph whose steps run in a random order that its edges allow.
struct SimGraph final : DeviceGraph {
  bool replace(size_t number, const DeviceStep& step) override {
    steps[number] = step;
    return true;
  }
  std::vector<DeviceStep> steps;
  std::vector<std::vector<int>> after;
};

class Sim final : public Device {
 public:
  Sim() {
    target_ = host_target();
    target_.id = TargetId::Sim;
    target_.name = "sim";
    target_.max_recomputed_ops = kRecomputedOps;
    std::thread([this] { work(); }).detach();
  }

  std::string_view name() const override { return "sim"; }
  const Target& target() const override { return target_; }
  SimMemory& memory() { return memory_; }
  MemoryUse memory_use() const override { return {memory_.in_use(), memory_.peak()}; }
  void set_memory_limit(size_t bytes) override { memory_.set_limit(bytes); }
  void set_seed(uint64_t seed) {
    MutexLock lock(mu_);
    random_ = seed;
  }

  uint64_t take(size_t bytes) override {
    uint64_t at = memory_.take(bytes);
    if (!at && free_idle_memory(*this)) at = memory_.take(bytes);
    if (!at) throw out_of_device_memory(*this, bytes, memory_.in_use());
    if (bytes <= kMaxFilled) enqueue([this, at, bytes] { std::memset(memory_.real(at), kFresh, bytes); });
    return at;
  }
  void give(uint64_t address, size_t bytes) override { memory_.give(address, bytes); }

  void read(uint64_t from, std::byte* to, size_t bytes) const override {
    if (bytes) std::memcpy(to, memory_.real(from), bytes);
  }
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    enqueue([this, to, sent = std::vector<std::byte>(from, from + bytes)] {
      if (!sent.empty()) std::memcpy(memory_.real(to), sent.data(), sent.size());
    });
  }
  void copy(const Tensor& from, const Tensor& to) override {
    enqueue([this, from = array(from), to = array(to)] { copy_on_host(real(from), real(to)); });
  }

  void submit(DeviceStep step) override {
    enqueue([this, step = std::move(step)] { std::visit([&](const auto& s) { run_step(s); }, step); });
  }

  std::unique_ptr<DeviceGraph> record(std::vector<DeviceStep> steps,
                                      const std::vector<std::vector<int>>& after) override {
    auto out = std::make_unique<SimGraph>();
    out->steps = std::move(steps);
    out->after = after;
    return out;
  }
  void submit(DeviceGraph& graph) override {
    enqueue([this, graph = static_cast<const SimGraph&>(graph)] { run_graph(graph); });
  }
  bool can_record(const Code&, std::span<const int64_t>, bool) const override { return true; }

  Event mark() override {
    MutexLock lock(mu_);
    return submitted_;
  }
  bool wait_for(Event event, std::chrono::microseconds most) override {
    std::exception_ptr failure;
    {
      MutexLock lock(mu_);
      const auto end = std::chrono::steady_clock::now() + most;
      while (done_ < event) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= end) return false;
        changed_.wait_for(mu_, end - now);
      }
      failure = std::exchange(failure_, nullptr);
    }
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  // A tensor without its buffer: only the threads of the program may touch reference counts.
  struct Array {
    DType dtype;
    Dims sizes, strides;
    int64_t offset;
    uint64_t address;
    size_t bytes;
  };

  static Array array(const Tensor& t) {
    return {t.dtype, t.sizes, t.strides, t.offset, t.buffer->address(), t.buffer->size_bytes()};
  }
  Tensor real(const Array& a) const {
    return {a.dtype, a.sizes, a.strides, a.offset, make_ref<Buffer>(memory_.real(a.address), a.bytes, nullptr)};
  }
  std::byte* real(const std::byte* address) const { return memory_.real(reinterpret_cast<uint64_t>(address)); }

  void run_step(const DeviceLaunch& l) {
    auto* const record = l.record ? reinterpret_cast<CheckRecord*>(real(l.record)) : nullptr;
    if (l.guarded && record->failed) return;
    SmallVec<std::byte*, 16> buffers;
    for (const std::byte* p : l.buffers)
      buffers.push_back(real(p));
    int64_t payload = 0;
    const int site = static_cast<const CpuKernel&>(*l.code).run(buffers, l.sizes, payload);
    const int step = l.number * kStepsOfLaunch;
    INVARIANT(site < 0 || record, "a check failed of a launch that has none");
    if (site >= 0 && (!record->failed || step < record->step)) *record = {0, 1, step, site, 0, payload};
  }
  void run_step(const DeviceCopy& c) { std::memmove(real(c.to), real(c.from), c.size_bytes); }
  void run_step(const DeviceStore& s) { std::memcpy(real(s.to), &s.number, sizeof s.number); }

  void run_graph(const SimGraph& graph) {
    std::vector<size_t> missing(graph.steps.size()), ready;
    std::vector<std::vector<size_t>> next(graph.steps.size());
    for (size_t i = 0; i < graph.steps.size(); ++i) {
      missing[i] = graph.after[i].size();
      for (int before : graph.after[i])
        next[static_cast<size_t>(before)].push_back(i);
      if (missing[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      std::swap(ready[next_random() % ready.size()], ready.back());
      const size_t i = ready.back();
      ready.pop_back();
      std::visit([&](const auto& s) { run_step(s); }, graph.steps[i]);
      for (size_t n : next[i])
        if (--missing[n] == 0) ready.push_back(n);
    }
  }

  void enqueue(std::function<void()> command) {
    MutexLock lock(mu_);
    queue_.push_back(std::move(command));
    ++submitted_;
    changed_.notify_all();
  }

  // One command in eight is delayed by up to a quarter of a millisecond.
  std::chrono::microseconds next_delay() {
    const uint64_t x = next_random();
    return std::chrono::microseconds(x >> 28 ? 0 : x & 255);
  }
  // A random number of 31 bits.
  uint64_t next_random() {
    MutexLock lock(mu_);
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return random_ >> 33;
  }

  void work() {
    for (;;) {
      std::function<void()> command;
      {
        MutexLock lock(mu_);
        while (queue_.empty())
          changed_.wait(mu_);
        command = std::move(queue_.front());
        queue_.pop_front();
      }
      const std::chrono::microseconds delay = next_delay();
      if (delay.count()) std::this_thread::sleep_for(delay);
      std::exception_ptr failure;
      try {
        command();
      } catch (...) {
        failure = std::current_exception();  // rethrown to the next waiter
      }
      command = nullptr;
      MutexLock lock(mu_);
      if (failure) failure_ = failure;
      ++done_;
      changed_.notify_all();
    }
  }

  Target target_;
  SimMemory memory_;
  mutable Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mu_);
  Event submitted_ GUARDED_BY(mu_) = 0, done_ GUARDED_BY(mu_) = 0;
  std::exception_ptr failure_ GUARDED_BY(mu_);
  uint64_t random_ GUARDED_BY(mu_) = 1;
};

}  // namespace

Device& simulated_device(std::string_view options) {
  static auto* sim = new Sim;  // its thread ends with the program, which waits for the steps
  static const int at_exit = std::atexit([] {
    try {
      sim->wait(sim->mark());
    } catch (...) {  // the program is ending; nobody can handle it
    }
  });
  (void)at_exit;
  set_test_options("SHEAF_SIM", options, "seed:N, oom:N, least:N or plain:N", [](std::string_view key, int64_t number) {
    if (key == "seed") sim->set_seed(static_cast<uint64_t>(number));
    if (key == "oom") sim->memory().fail_allocation(number);
    return key == "seed" || key == "oom";
  });
  return *sim;
}

}  // namespace sheaf::runtime

// Steps run on a thread of their own, one after the other, after delays that a seed decides: a missing wait shows as
// wrong bits. Memory is that of sim_memory.h. Kernels are those of this processor.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "runtime/device.h"
#include "runtime/sim_memory.h"
#include "support/error.h"
#include "support/mutex.h"
#include "tensor/tensor.h"

namespace sheaf::runtime {
namespace {

// Fresh memory holds these bytes: a value that was read too soon is none that a program computes.
constexpr int kFresh = 0xcd;
constexpr size_t kMaxFilled = 1 << 16;

class Sim final : public Device {
 public:
  Sim() {
    target_ = host_target();
    target_.id = TargetId::Sim;
    target_.name = "sim";
    std::thread([this] { work(); }).detach();
  }

  std::string_view name() const override { return "sim"; }
  const Target& target() const override { return target_; }
  SimMemory& memory() { return memory_; }
  void set_seed(uint64_t seed) {
    MutexLock lock(mu_);
    random_ = seed;
  }

  uint64_t take(size_t bytes) override {
    const uint64_t at = memory_.take(bytes);
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

  void submit(DeviceStep step, std::shared_ptr<DeviceRun> run) override {
    enqueue([this, step = std::move(step), run = std::move(run)] {
      if (!run->failed) std::visit([&](const auto& s) { run_step(s, *run); }, step);
    });
  }

  Event mark() override {
    MutexLock lock(mu_);
    return submitted_;
  }
  bool passed(Event event) const override {
    MutexLock lock(mu_);
    return done_ >= event;
  }
  void wait(Event event) override {
    std::exception_ptr failure;
    {
      MutexLock lock(mu_);
      while (done_ < event)
        changed_.wait(mu_);
      failure = std::exchange(failure_, nullptr);
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // A tensor without its buffer: counts of buffers belong to the threads of the program.
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

  void run_step(const DeviceLaunch& l, DeviceRun& run) {
    SmallVec<std::byte*, 16> buffers;
    for (const std::byte* p : l.buffers)
      buffers.push_back(real(p));
    int64_t payload = 0;
    const int site = static_cast<const CpuKernel&>(*l.code).run(buffers, l.sizes, payload);
    if (site >= 0) run.failed = CheckFailure{l.label, site, payload};
  }
  void run_step(const DeviceCopy& c, DeviceRun&) { std::memmove(real(c.to), real(c.from), c.size_bytes); }
  void run_step(const DeviceStore& s, DeviceRun&) { std::memcpy(real(s.to), &s.number, sizeof s.number); }

  void enqueue(std::function<void()> command) {
    MutexLock lock(mu_);
    queue_.push_back(std::move(command));
    ++submitted_;
    changed_.notify_all();
  }

  // A command in eight waits for up to a quarter of a millisecond.
  std::chrono::microseconds next_delay() REQUIRES(mu_) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return std::chrono::microseconds(random_ >> 61 ? 0 : random_ >> 40 & 255);
  }

  void work() {
    for (;;) {
      std::function<void()> command;
      std::chrono::microseconds delay;
      {
        MutexLock lock(mu_);
        while (queue_.empty())
          changed_.wait(mu_);
        command = std::move(queue_.front());
        queue_.pop_front();
        delay = next_delay();
      }
      if (delay.count()) std::this_thread::sleep_for(delay);
      std::exception_ptr failure;
      try {
        command();
      } catch (...) {
        failure = std::current_exception();  // thrown again to who waits next
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
    } catch (...) {  // nobody is left who could be told
    }
  });
  (void)at_exit;
  while (!options.empty()) {
    const std::string_view word = options.substr(0, options.find(','));
    options.remove_prefix(std::min(word.size() + 1, options.size()));
    const size_t colon = word.find(':');
    int64_t number = 0;
    const char* end = word.data() + word.size();
    const bool is_number = colon != std::string_view::npos &&
                           std::from_chars(word.data() + colon + 1, end, number) == std::from_chars_result{end, {}};
    const std::string_view key = word.substr(0, colon);
    if (is_number && key == "seed")
      sim->set_seed(static_cast<uint64_t>(number));
    else if (is_number && key == "oom")
      sim->memory().fail_allocation(number);
    else if (is_number && key == "least")
      set_least_for_device(number);
    else
      throw runtime_error(fmt::format("SHEAF_SIM: expected seed:N, oom:N or least:N, got '{}'", word));
  }
  return *sim;
}

}  // namespace sheaf::runtime

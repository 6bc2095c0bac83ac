#include "runtime/device_runner.h"

#include <algorithm>
#include <limits>

#include "runtime/control_runner.h"
#include "support/error.h"

namespace sheaf::runtime {
namespace {

// The bytes that a launch touches of each of its buffers.
SmallVec<ByteRange, 16> ranges_of(const Launch& l) {
  SmallVec<ByteRange, 16> out;
  for (const Place& p : l.buffers) {
    const int64_t none = std::numeric_limits<int64_t>::max();
    int64_t first = none, end = 0;
    auto add = [&](const Access& a) {
      const Place& at = a.place;
      if (at.kind != p.kind || at.index != p.index) return;
      // What begins at the buffer's address is of that buffer, and what encloses it: a flipped array begins before it.
      if (at.offset != p.offset && (at.offset > p.offset || at.offset + a.bytes <= p.offset)) return;
      first = std::min(first, at.offset - p.offset);
      end = std::max(end, at.offset - p.offset + a.bytes);
    };
    std::for_each(l.reads.begin(), l.reads.end(), add);
    std::for_each(l.writes.begin(), l.writes.end(), add);
    out.push_back(first == none ? ByteRange{} : ByteRange{first, end - first});
  }
  return out;
}

class DeviceControl final : public ControlDevice {
 public:
  DeviceControl(Device& device, std::shared_ptr<DeviceRun> run) : device_(device), run_(std::move(run)) {}

  void copy(std::byte* to, const std::byte* from, size_t bytes) override {
    device_.submit(DeviceCopy{to, from, bytes}, run_);
  }
  void store(std::byte* to, int64_t number) override { device_.submit(DeviceStore{to, number}, run_); }
  // An answer counts only where no check before it has failed.
  void fetch(const std::byte* from, std::byte* to, size_t bytes) override {
    finish(device_, *run_);
    device_.fetch(reinterpret_cast<uint64_t>(from), to, bytes);
  }
  Ref<Buffer> allocate(size_t bytes) override { return Buffer::allocate(device_, bytes); }
  void run_nested(const Plan& plan, const Memory& memory) override {
    Memory here = memory;
    here.space = &device_;
    run_steps(plan, here);
  }

  void run_steps(const Plan& plan, const Memory& m) {
    for (const Step& step : plan.steps) {
      if (g_stop_requested && g_stop_requested()) throw Stopped{};
      std::visit([&](const auto& s) { run_one(s, plan, m); }, step);
    }
  }

 private:
  void run_one(const Launch& l, const Plan& plan, const Memory& m) {
    Pointers p = pointers(l, plan, m);
    if (l.is_copy && p[0] == p[1]) return;
    DeviceLaunch launch{l.kernel, std::move(p), l.sizes, l.label};
    if (device_.needs_ranges(*l.kernel)) launch.ranges = ranges_of(l);
    device_.submit(std::move(launch), run_);
  }
  void run_one(const ProductStep& step, const Plan&, const Memory&) {
    INVARIANT(false, step.name << " is planned as one step for a device that runs none");
  }
  void run_one(const CopyStep& step, const Plan& plan, const Memory& m) {
    const Pointers p = pointers(step, plan, m);
    for (size_t i = 0; i < p.size() && step.size_bytes; i += 2)
      copy(p[i + 1], p[i], static_cast<size_t>(step.size_bytes));
  }
  // A host call is made when no check before it can fail any more, whether it takes values or not.
  void run_one(const HostStep& step, const Plan& plan, const Memory& m) {
    finish(device_, *run_);
    run_control(step, pointers(step, plan, m), *this);
  }
  template <class S>
  void run_one(const S& step, const Plan& plan, const Memory& m) {
    run_control(step, pointers(step, plan, m), *this);
  }

  Device& device_;
  std::shared_ptr<DeviceRun> run_;
};

}  // namespace

void finish(Device& device, const DeviceRun& run) {
  device.wait(device.mark());
  if (run.failed) throw *run.failed;
}

DeviceRunner::DeviceRunner(Plan plan, Device& device) : plan_(std::move(plan)), device_(device), may_fail_(false) {
  for (const Step& step : plan_.steps)
    each_base(step, [&](const StepBase& s) { may_fail_ |= s.checks; });
}

std::vector<Tensor> DeviceRunner::run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up) const {
  Ref<Buffer> scratch;
  if (plan_.scratch_bytes) scratch = Buffer::allocate(device_, plan_.scratch_bytes);
  const std::vector<ResultBuffer> results = take_results(plan_, inputs, given_up, device_);
  Pointers input_data, result_data;
  for (const Tensor& t : inputs)
    input_data.push_back(address_in(device_, t));
  for (const ResultBuffer& r : results)
    result_data.push_back(reinterpret_cast<std::byte*>(r.buffer->address()) + r.offset_bytes);
  auto run = std::make_shared<DeviceRun>();
  auto* const scratch_data = scratch ? reinterpret_cast<std::byte*>(scratch->address()) : nullptr;
  DeviceControl(device_, run).run_steps(plan_, {input_data, result_data, scratch_data, inputs, given_up, &device_});
  if (may_fail_) finish(device_, *run);
  return outputs_of(plan_, inputs, results);
}

}  // namespace sheaf::runtime

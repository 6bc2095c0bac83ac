#include "runtime/device_runner.h"

#include <algorithm>
#include <cstring>

#include "runtime/profiler.h"

namespace sheaf::runtime {
namespace {

// One block of device memory for the data exchanged with the host in a run: the record of the first failed check, then
// the small host inputs, which are sent in a single copy.
class Exchange {
 public:
  Exchange(Device& device, bool has_record, std::span<const Tensor> inputs) {
    std::vector<std::byte> content(has_record ? kAlign : 0);
    if (has_record) std::memcpy(content.data(), &kFresh, sizeof kFresh);
    std::vector<std::ptrdiff_t> places;
    for (const Tensor& t : inputs) {
      const auto bytes = static_cast<size_t>(t.num_elems() * size_bytes(t.dtype));
      const size_t at = content.size();
      const bool travels = t.buffer->is_on_host() && bytes <= kMaxInput && at + bytes <= kMaxBytes;
      places.push_back(travels ? static_cast<std::ptrdiff_t>(at) : -1);
      if (!travels) continue;
      content.resize((at + bytes + kAlign - 1) / kAlign * kAlign);
      if (bytes > 0) std::memcpy(content.data() + at, t.bytes(), bytes);
    }
    if (!content.empty()) {
      block_ = Buffer::allocate(device, content.size());
      device.send(content.data(), block_->address(), content.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs_.push_back(places[i] < 0 ? address_in(device, inputs[i]) : begin() + places[i]);
    if (has_record) record_ = begin();
  }

  std::byte* record() const { return record_; }  // or nullptr
  std::span<std::byte* const> inputs() const { return {inputs_.data(), inputs_.size()}; }

 private:
  static constexpr size_t kAlign = 64, kMaxInput = 512, kMaxBytes = 4096;
  static constexpr CheckRecord kFresh{};
  std::byte* begin() const { return block_ ? reinterpret_cast<std::byte*>(block_->address()) : nullptr; }

  Ref<Buffer> block_;
  std::byte* record_ = nullptr;
  Pointers inputs_;
};

}  // namespace

class DeviceRun final : public DeviceWalk {
 public:
  DeviceRun(const DeviceRunner& runner, std::byte* record)
      : DeviceWalk(runner.device_, record, false), runner_(runner) {}

  // Donated memory must not be written before it is known that no check has failed.
  void copy(std::byte* to, const std::byte* from, size_t bytes) override {
    if (is_guarded()) finish({});
    device_.submit(DeviceCopy{to, from, bytes});
  }
  void store(std::byte* to, int64_t number) override { device_.submit(DeviceStore{to, number}); }
  void fetch(std::span<const Fetch> pieces) override { finish(pieces); }
  Ref<Buffer> allocate(size_t bytes) override { return Buffer::allocate(device_, bytes); }
  void run_nested(const Plan& plan, const Memory& memory) override {
    Memory here = memory;
    here.space = &device_;
    run(plan, here, false, runner_.parts(plan, false, is_guarded()));
  }

  // `parts`: of DeviceRunner::parts.
  void run(const Plan& plan, const Memory& m, bool is_top, const DeviceRunner::Parts* parts) {
    if (!parts) return run_steps(plan, 0, plan.steps.size(), m, is_top);
    for (const auto& part : *parts)
      if (!run_as_graph(*part, m)) run_steps(plan, part->first, part->last, m, is_top);
  }

  // Workspace for launches in graphs; lives until the run ends.
  std::byte* workspace(size_t bytes) {
    if (bytes == 0) return nullptr;
    if (!workspace_ || workspace_->size_bytes() < bytes) workspace_ = Buffer::allocate(device_, bytes);
    return reinterpret_cast<std::byte*>(workspace_->address());
  }

  // Waits for the bytes and for the launches that may have failed. Bytes are valid only if no earlier check failed:
  // otherwise throws CheckFailure for the first failure.
  void finish(std::span<const Fetch> pieces) {
    CheckRecord record;
    std::vector<Fetch> all(pieces.begin(), pieces.end());
    if (!labels_.empty()) all.push_back({record_, reinterpret_cast<std::byte*>(&record), sizeof record});
    if (all.empty()) return;
    device_.fetch_all(all, Device::Waiting::Stoppable);
    if (record.failed)
      throw CheckFailure{labels_[static_cast<size_t>(record.step / kStepsOfLaunch)], record.site, record.payload};
    labels_.clear();
  }

 private:
  // After this many launches that may fail, waits for their checks before it submits more.
  static constexpr size_t kMaxUnchecked = 1 << 16;

  void run_steps(const Plan& plan, size_t first, size_t last, const Memory& m, bool is_top) {
    for (size_t i = first; i < last; ++i) {
      stop_if_asked();
      walk(plan.steps[i], plan, m, is_top);
    }
  }

  bool run_as_graph(PlanPart& part, const Memory& m) {
    const Segment* const segment = part.segment(m.inputs.size());
    if (!segment) return false;
    stop_if_asked();
    // Launch numbers in a recorded graph start at 0, so wait for pending checks first, unless they have the same
    // labels.
    const std::vector<int>& labels = segment->labels();
    if (!labels.empty() && !labels_.empty() && labels_ != labels) finish({});
    if (!part.submit(m, record_, workspace(segment->workspace_bytes()))) return false;
    if (!labels.empty()) labels_ = labels;
    return true;
  }

  static void stop_if_asked() {
    if (g_stop_requested && g_stop_requested()) throw Stopped{};
  }

  void launch(DeviceLaunch launch, const Launch& l, const Plan&, const Memory&) override {
    if (l.is_copy && launch.buffers[0] == launch.buffers[1]) return;
    if (l.checks) {
      if (labels_.size() == kMaxUnchecked) finish({});
      launch.number = static_cast<int>(labels_.size());
      labels_.push_back(l.label);
    }
    if (g_run_launch) {
      launch.ranges = ranges_of(l);
      g_run_launch(l, std::move(launch), device_);
    } else if (g_profiling) {
      record_kernel({l.name, l.span, l.flops, l.bytes}, device_.time(std::move(launch)));
    } else {
      device_.submit(std::move(launch));
    }
  }

  const DeviceRunner& runner_;
  Ref<Buffer> workspace_;
  std::vector<int> labels_;  // of the launches that may have failed, by number
};

void (*g_run_launch)(const Launch&, DeviceLaunch, Device&) = nullptr;

DeviceRunner::DeviceRunner(Plan plan, Device& device)
    : plan_(std::move(plan)), device_(device), can_fail_(can_fail(plan_)) {}

Span DeviceRunner::span() const {
  Span found;
  for (const Step& step : plan_.steps)
    each_base(step, [&](const StepBase& s) {
      if (!found) found = s.span;
    });
  return found;
}

bool DeviceRunner::drop_graphs() {
  MutexLock lock(mu_);
  bool any = false;
  for (const auto& [plan, runs] : runs_)
    any |= !runs.parts.empty();
  if (any) runs_.clear();
  return any;
}

const DeviceRunner::Parts* DeviceRunner::parts(const Plan& plan, bool is_top, bool guarded) const {
  if (g_profiling || g_run_launch) return nullptr;
  MutexLock lock(mu_);
  Runs& runs = runs_[&plan];
  if (runs.count++ < plain_runs()) return nullptr;
  if (runs.parts.empty()) runs.parts = parts_of({plan, device_, can_fail_, is_top, guarded});
  return &runs.parts;
}

std::vector<Tensor> DeviceRunner::run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up,
                                      std::span<const uint8_t> wanted_here) const {
  DeviceUse use;
  // All memory is taken before anything is submitted.
  struct Taken {
    Ref<Buffer> scratch;
    std::vector<ResultBuffer> results;
    std::unique_ptr<const Exchange> exchange;
    std::unique_ptr<DeviceRun> run;
    const Parts* parts;
  };
  const Taken taken = use.with_memory(device_, [&] {
    Taken t;
    if (plan_.scratch_bytes) t.scratch = Buffer::allocate(device_, plan_.scratch_bytes);
    t.exchange = std::make_unique<Exchange>(device_, can_fail_, inputs);
    t.run = std::make_unique<DeviceRun>(*this, t.exchange->record());
    t.parts = parts(plan_, true, false);
    size_t workspace_bytes = 0;
    for (size_t i = 0; t.parts && i < t.parts->size(); ++i)
      if (const Segment* s = (*t.parts)[i]->segment(inputs.size()))
        workspace_bytes = std::max(workspace_bytes, s->workspace_bytes());
    t.run->workspace(workspace_bytes);
    t.results = take_results(plan_, inputs, given_up, device_);
    return t;
  });
  const Exchange& exchange = *taken.exchange;
  DeviceRun& run = *taken.run;
  const std::vector<ResultBuffer>& results = taken.results;
  Pointers result_data;
  for (const ResultBuffer& r : results)
    result_data.push_back(reinterpret_cast<std::byte*>(r.buffer->address()) + r.offset_bytes);
  auto* const scratch_data = taken.scratch ? reinterpret_cast<std::byte*>(taken.scratch->address()) : nullptr;
  run.run(plan_, {exchange.inputs(), result_data, scratch_data, inputs, given_up, &device_}, true, taken.parts);
  std::vector<Tensor> outputs = outputs_of(plan_, inputs, results);
  std::vector<Fetch> wanted;
  for (size_t i = 0; i < wanted_here.size(); ++i)
    if (wanted_here[i] && !outputs[i].buffer->is_on_host()) {
      const Tensor& there = outputs[i];
      Tensor here = empty_tensor(there.dtype, there.sizes);
      wanted.push_back({address_in(device_, there), here.bytes_mut(), here.buffer->size_bytes()});
      outputs[i] = std::move(here);
    }
  run.finish(wanted);
  return outputs;
}

}  // namespace sheaf::runtime

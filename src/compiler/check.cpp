#include "compiler/check.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "codegen/block/block.h"
#include "compiler/pipeline.h"
#include "runtime/cpu_runner.h"
#include "runtime/device_code.h"
#include "runtime/device_runner.h"
#include "support/mutex.h"
#include "tensor/tensor.h"

namespace sheaf::compiler {
namespace {

using runtime::Launch;
using runtime::Memory;
using runtime::Place;
using runtime::Plan;
using runtime::Step;

// The memory of the second run. It shares the inputs, which are never written, except those whose memory an output
// takes over.
class Twin {
 public:
  Twin(const Plan& plan, const Memory& m) : plan_(plan), original_(m), scratch_(plan.scratch_bytes) {
    // Clears scratch memory, so that both runs see the same bytes before the first write.
    if (plan.scratch_bytes) std::memset(m.scratch, 0, plan.scratch_bytes);
    for (size_t i = 0; i < m.results.size(); ++i) {
      auto n = static_cast<size_t>(plan.output_buffers[i].bytes);
      results_.emplace_back(m.results[i], m.results[i] + n);
      pointers_.push_back(results_.back().data());
    }
    for (std::byte* in : m.inputs) {
      inputs_.push_back(in);
      for (size_t i = 0; i < m.results.size(); ++i)
        if (m.results[i] == in && !results_[i].empty()) inputs_.back() = pointers_[i];
    }
  }

  Memory memory() { return {inputs_, pointers_, scratch_.data()}; }

  // For steps that run once only: copies their results.
  void follow() {
    if (!scratch_.empty()) std::memcpy(scratch_.data(), original_.scratch, scratch_.size());
    for (size_t i = 0; i < results_.size(); ++i)
      if (!results_[i].empty()) std::memcpy(results_[i].data(), original_.results[i], results_[i].size());
  }

  void compare(const Launch& l, const loop::Kernel& k) {
    Memory twin = memory();
    for (size_t slot = 0; slot < l.buffers.size(); ++slot) {
      const Place& p = l.buffers[slot];
      if (slot >= k.buffers.size() || !k.buffers[slot].written || (p.kind != Place::Scratch && p.kind != Place::Output))
        continue;
      size_t bytes =
          (p.kind == Place::Scratch ? scratch_.size() : results_[p.index].size()) - static_cast<size_t>(p.offset);
      const std::byte *a = address(p, plan_, original_), *b = address(p, plan_, twin);
      if (std::memcmp(a, b, bytes) == 0) continue;
      size_t at = 0;
      while (a[at] == b[at])
        ++at;
      DType d = k.buffers[slot].dtype;
      size_t element = at / static_cast<size_t>(size_bytes(d));
      auto value = [&](const std::byte* from) {
        Tensor t = empty_tensor(d, {});
        std::memcpy(t.bytes_mut(), from + element * static_cast<size_t>(size_bytes(d)),
                    static_cast<size_t>(size_bytes(d)));
        return load_double(d, t.bytes());
      };
      throw std::runtime_error(
          fmt::format("--check: {}{}: element {} of its array {} is {} natively and {} in the block executor", l.name,
                      l.span ? " at " + place(l.span) : "", element, slot, value(a), value(b)));
    }
  }

 private:
  const Plan& plan_;
  const Memory& original_;
  std::vector<std::byte> scratch_;
  std::vector<std::vector<std::byte>> results_;
  std::vector<std::byte*> pointers_, inputs_;
};

void run_in_twin(const Launch& l, const Plan& plan, Twin& twin) {
  auto* kernel = dynamic_cast<const CheckableKernel*>(l.kernel.get());
  if (!kernel) return twin.follow();
  runtime::Pointers buffers = pointers(l, plan, twin.memory());
  if (l.is_copy && buffers[0] == buffers[1]) return;
  int64_t payload = 0;
  kernel->run_block(buffers, l.sizes, payload);
}

void run_checked(const Plan& plan, const Memory& m) {
  Twin twin(plan, m);
  for (const Step& step : plan.steps) {
    if (runtime::g_stop_requested && runtime::g_stop_requested()) throw runtime::Stopped{};
    run_step(step, plan, m);
    // Loops and branches check their nested launches; host calls must not run twice.
    if (!std::holds_alternative<Launch>(step) && !std::holds_alternative<runtime::ProductStep>(step)) twin.follow();
    each_launch(step, [&](const Launch& l) { run_in_twin(l, plan, twin); });
    each_launch(step, [&](const Launch& l) {
      if (auto* kernel = dynamic_cast<const CheckableKernel*>(l.kernel.get())) twin.compare(l, kernel->kernel());
    });
  }
}

std::shared_ptr<const codegen::BlockKernel> block_kernel(const Launch& l, const loop::Kernel& k,
                                                         const runtime::Target& target) {
  static auto* mu = new Mutex;
  static auto* known = new std::map<std::shared_ptr<const runtime::Code>, std::shared_ptr<const codegen::BlockKernel>>;
  MutexLock lock(*mu);
  auto& block = (*known)[l.kernel];
  if (!block) block = codegen::BlockKernel::compile(run_kernel_passes(k), target);
  return block;
}

// The index of the first element that differs, if any. All NaNs are equal.
std::optional<size_t> first_difference(DType d, const std::vector<std::byte>& a, const std::byte* b) {
  const auto width = static_cast<size_t>(size_bytes(d));
  for (size_t at = 0; at + width <= a.size(); at += width)
    if (std::memcmp(a.data() + at, b + at, width) != 0 &&
        !(is_float(d) && std::isnan(load_double(d, a.data() + at)) && std::isnan(load_double(d, b + at))))
      return at / width;
  return std::nullopt;
}

void run_checked_there(const Launch& l, runtime::DeviceLaunch launch, runtime::Device& device) {
  auto* const code = dynamic_cast<const DeviceCheckable*>(launch.code.get());
  auto fetch = [&](uint64_t from, std::byte* to, size_t bytes) { device.fetch(from, to, bytes); };
  runtime::CheckRecord record;
  if (launch.guarded)
    fetch(reinterpret_cast<uint64_t>(launch.record), reinterpret_cast<std::byte*>(&record), sizeof record);
  if (!code || record.failed) return device.submit(std::move(launch));
  const loop::Kernel& k = code->kernel();
  const auto block = block_kernel(l, k, device.target());
  runtime::HostRoutine twin;
  for (size_t b = 0; b < k.buffers.size(); ++b)
    twin.buffers.push_back({static_cast<int>(b), k.buffers[b].written});
  twin.run = [&](std::span<std::byte* const> buffers, int64_t&) {
    device.submit(launch);
    loop::CheckRecord check;
    block->run(buffers, l.sizes, check);
    return -1;
  };
  auto compare = [&](const std::byte* expected, uint64_t there, size_t bytes) {
    std::vector<std::byte> actual(bytes);
    fetch(there, actual.data(), bytes);
    size_t slot = 0;
    while (!k.buffers[slot].written ||
           reinterpret_cast<uint64_t>(launch.buffers[slot] + launch.ranges[slot].first) != there)
      ++slot;
    const DType d = k.buffers[slot].dtype;
    const auto at = first_difference(d, actual, expected);
    if (!at) return;
    const size_t byte = *at * static_cast<size_t>(size_bytes(d));
    throw std::runtime_error(
        fmt::format("--check: {}{}: element {} of its array {} is {} on {} and {} in the block executor", l.name,
                    l.span ? " at " + place(l.span) : "", *at, slot, load_double(d, actual.data() + byte),
                    device.name(), load_double(d, expected + byte)));
  };
  int64_t payload = 0;
  runtime::run_on_host(twin, launch, payload, fetch, compare);
}

}  // namespace

void check_everything() {
  runtime::g_run_steps = run_checked;
  runtime::g_run_launch = run_checked_there;
}

}  // namespace sheaf::compiler

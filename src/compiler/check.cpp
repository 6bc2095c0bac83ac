#include "compiler/check.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "runtime/cpu_runner.h"
#include "tensor/tensor.h"

namespace sheaf::compiler {
namespace {

using runtime::Launch;
using runtime::Memory;
using runtime::Place;
using runtime::Plan;
using runtime::Step;

// The memory of the second run. Inputs are never written, but for those that an output takes over.
class Twin {
 public:
  Twin(const Plan& plan, const Memory& m) : plan_(plan), original_(m), scratch_(plan.scratch_bytes) {
    // Both runs see the same bytes where nothing has been written yet.
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

  // What ran once only: its results are taken over.
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
    // Loops and branches check what is inside them; host calls must not be made twice.
    if (!std::holds_alternative<Launch>(step) && !std::holds_alternative<runtime::ProductStep>(step)) twin.follow();
    each_launch(step, [&](const Launch& l) { run_in_twin(l, plan, twin); });
    each_launch(step, [&](const Launch& l) {
      if (auto* kernel = dynamic_cast<const CheckableKernel*>(l.kernel.get())) twin.compare(l, kernel->kernel());
    });
  }
}

}  // namespace

void check_everything() { runtime::g_run_steps = run_checked; }

}  // namespace sheaf::compiler

#include "compiler/check.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "tensor/tensor.h"

namespace sheaf::compiler {
namespace {

using runtime::Executable;
using runtime::Launch;
using runtime::Memory;
using runtime::Place;

// The memory of the second run. Inputs are never written, but for those that an output takes over.
class Twin {
 public:
  Twin(const Executable& e, const Memory& m) : executable_(e), original_(m), scratch_(e.scratch_bytes) {
    // Both runs see the same bytes where nothing has been written yet.
    if (e.scratch_bytes) std::memset(m.scratch, 0, e.scratch_bytes);
    for (size_t i = 0; i < m.results.size(); ++i) {
      auto n = static_cast<size_t>(e.output_buffers[i].bytes);
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
      const std::byte *a = executable_.address(p, original_), *b = executable_.address(p, twin);
      if (std::memcmp(a, b, bytes) == 0) continue;
      size_t at = 0;
      while (a[at] == b[at])
        ++at;
      DType d = k.buffers[slot].dtype;
      size_t element = at / static_cast<size_t>(size_bytes(d));
      auto value = [&](const std::byte* from) {
        Tensor t = empty_tensor(d, {});
        std::memcpy(t.bytes(), from + element * static_cast<size_t>(size_bytes(d)), static_cast<size_t>(size_bytes(d)));
        return load_double(d, t.bytes());
      };
      throw std::runtime_error(
          fmt::format("--check: {}{}: element {} of its array {} is {} natively and {} in the block executor", l.name,
                      l.span ? " at " + place(l.span) : "", element, slot, value(a), value(b)));
    }
  }

 private:
  const Executable& executable_;
  const Memory& original_;
  std::vector<std::byte> scratch_;
  std::vector<std::vector<std::byte>> results_;
  std::vector<std::byte*> pointers_, inputs_;
};

void run_in_twin(const Executable& e, const Launch& l, Twin& twin) {
  auto* kernel = dynamic_cast<const CheckableKernel*>(l.kernel.get());
  if (!kernel) return twin.follow();  // loops and branches check what is inside them; host calls must not be made twice
  Executable::Pointers pointers = e.pointers(l, twin.memory());
  if (l.is_copy && pointers[0] == pointers[1]) return;
  int64_t payload = 0;
  kernel->run_block(pointers, l.sizes, payload);
}

void run_checked(const Executable& e, const Memory& m) {
  Twin twin(e, m);
  for (const runtime::Step& step : e.steps) {
    if (runtime::g_stop_requested && runtime::g_stop_requested()) throw runtime::Stopped{};
    e.run_step(step, m);
    each_launch(step, [&](const Launch& l) { run_in_twin(e, l, twin); });
    each_launch(step, [&](const Launch& l) {
      if (auto* kernel = dynamic_cast<const CheckableKernel*>(l.kernel.get())) twin.compare(l, kernel->kernel());
    });
  }
}

}  // namespace

void check_everything() { runtime::g_run_steps = run_checked; }

}  // namespace sheaf::compiler

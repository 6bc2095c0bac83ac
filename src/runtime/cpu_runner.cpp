#include "runtime/cpu_runner.h"

#include <chrono>
#include <cstring>
#include <optional>

#include "runtime/control_runner.h"
#include "runtime/epilogue_runner.h"
#include "runtime/packed.h"
#include "runtime/profiler.h"
#include "runtime/prologue_runner.h"

namespace sheaf::runtime {
namespace {

Ref<Buffer>& kept_scratch() {
  thread_local Ref<Buffer> kept;
  return kept;
}

std::byte* borrow_scratch(size_t bytes, Ref<Buffer>& held) {
  Ref<Buffer>& kept = kept_scratch();
  if (!kept || kept->size_bytes() < bytes || !kept->unique()) kept = Buffer::allocate(bytes);
  held = kept;
  return kept->host_mut();
}

using Clock = std::chrono::steady_clock;
Clock::time_point now() { return g_profiling ? Clock::now() : Clock::time_point(); }
uint64_t ns_since(Clock::time_point start) { return static_cast<uint64_t>((now() - start).count()); }

void record(const StepBase& s, Clock::time_point start) {
  if (g_profiling) record_kernel({s.name, s.span, s.flops, s.bytes}, ns_since(start));
}

void run_one(const Launch& l, const Plan& plan, const Memory& m) {
  Pointers p = pointers(l, plan, m);
  if (l.is_copy && p[0] == p[1]) return;
  int64_t payload = 0;
  int site = -1;
  auto start = now();
  if (std::byte* packed = l.packed ? packed_operand(l, plan, m) : nullptr) {
    p[l.packed->facts.operand] = packed;
    l.packed->run(p, {});
  } else {
    site = kernel_of(l).run(p, l.sizes, payload);
  }
  record(l, start);
  if (site >= 0) throw CheckFailure{l.label, site, payload};
}

void run_one(const ProductStep& step, const Plan& plan, const Memory& m) {
  auto start = now();
  std::optional<PrologueRunner> prologue;
  for (const PrologueLaunch& p : step.prologue)
    prologue.emplace(p, pointers(p.launch, plan, m));
  std::optional<EpilogueRunner> epilogue;
  for (const EpilogueLaunch& e : step.epilogue)
    epilogue.emplace(e, pointers(e.launch, plan, m));
  auto make = [&](int64_t row, int64_t rows, bool keep) { return prologue->make(row, rows, keep); };
  auto take = [&](const Tile& tile) { epilogue->take(tile); };
  const PrologueFn prologue_fn(make);
  const EpilogueFn epilogue_fn(take);
  const Fusion fusion{prologue ? &prologue_fn : nullptr, epilogue ? &epilogue_fn : nullptr,
                      prologue ? prologue->source() : PrologueSource{}};
  Pointers p = pointers(step.product, plan, m);
  if (std::byte* packed = step.product.packed ? packed_operand(step.product, plan, m) : nullptr) {
    p[step.product.packed->facts.operand] = packed;
    step.product.packed->run(p, fusion);
  } else {
    static_cast<const FusedProduct&>(*step.form).run(p, fusion);
  }
  if (epilogue) epilogue->finish();
  if (g_profiling) record_kernel({step.name, step.product.span, step.product.flops, step.bytes}, ns_since(start));
}

void run_one(const CopyStep& step, const Plan& plan, const Memory& m) {
  auto start = now();
  Pointers p = pointers(step, plan, m);
  for (size_t i = 0; i < p.size() && step.size_bytes; i += 2)
    std::memcpy(p[i + 1], p[i], static_cast<size_t>(step.size_bytes));
  record(step, start);
}

class HostControl final : public ControlDevice {
 public:
  void copy(std::byte* to, const std::byte* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void store(std::byte* to, int64_t number) override { std::memcpy(to, &number, sizeof number); }
  void fetch(std::span<const Fetch> pieces) override {
    for (const Fetch& f : pieces)
      std::memcpy(f.to, f.from, f.bytes);
  }
  Ref<Buffer> allocate(size_t bytes) override { return Buffer::allocate(bytes); }
  void run_nested(const Plan& plan, const Memory& memory) override { runtime::run_nested(plan, memory); }
};

template <class S>
void run_one(const S& step, const Plan& plan, const Memory& m) {
  auto start = now();
  HostControl control;
  run_control(step, pointers(step, plan, m), control);
  record(step, start);
}

void run_steps(const Plan& plan, const Memory& m) {
  if (g_run_steps) return g_run_steps(plan, m);
  for (const Step& step : plan.steps) {
    if (g_stop_requested && g_stop_requested()) throw Stopped{};
    run_step(step, plan, m);
  }
}

// Calls f, which runs the plan, and reports the elapsed time to the plan's watcher.
template <class F>
void watched(const Plan& plan, F f) {
  const int weight = plan.watcher ? plan.watcher->weight() : 0;
  const auto start = weight ? Clock::now() : Clock::time_point();
  f();
  if (weight) plan.watcher->after_run(plan, std::chrono::nanoseconds(Clock::now() - start).count(), weight);
}

}  // namespace

bool (*g_stop_requested)() = nullptr;
void (*g_run_steps)(const Plan&, const Memory&) = nullptr;

void release_scratch() { kept_scratch() = nullptr; }

const Buffer* unchanged_buffer(const Place& p, const Plan& plan, const Memory& m) {
  if (p.kind == Place::Constant) return plan.constants[p.index].buffer.get();
  if (p.kind != Place::Input || m.owners.empty() || (!m.given_up.empty() && m.given_up[p.index])) return nullptr;
  return m.owners[p.index].buffer.get();
}

void run_step(const Step& step, const Plan& plan, const Memory& m) {
  std::visit([&](const auto& s) { run_one(s, plan, m); }, step);
}

void run_nested(const Plan& plan, const Memory& m) {
  watched(plan, [&] { run_steps(plan, m); });
}

std::vector<Tensor> CpuRunner::run(std::span<const Tensor> inputs, std::span<const uint8_t> given_up,
                                   std::span<const uint8_t> /*wanted_here*/) const {
  std::vector<Tensor> out;
  watched(plan_, [&] { out = run_once(inputs, given_up); });
  return out;
}

std::vector<Tensor> CpuRunner::run_once(std::span<const Tensor> inputs, std::span<const uint8_t> given_up) const {
  Ref<Buffer> scratch;
  std::byte* scratch_data = plan_.scratch_bytes ? borrow_scratch(plan_.scratch_bytes, scratch) : nullptr;
  auto entered = now();
  const std::vector<ResultBuffer> results = take_results(plan_, inputs, given_up, host_space());
  if (g_profiling) {
    BufferTime buffers;
    for (const ResultBuffer& r : results)
      ++(r.donated ? buffers.hits : buffers.misses);
    buffers.ns = ns_since(entered);
    record_buffers(buffers);
  }
  SmallVec<std::byte*, 16> input_data, result_data;
  for (const Tensor& t : inputs)
    input_data.push_back(const_cast<std::byte*>(t.bytes()));
  for (const ResultBuffer& r : results)
    result_data.push_back(r.buffer->host_mut() + r.offset_bytes);
  run_steps(plan_, {input_data, result_data, scratch_data, inputs, given_up});
  return outputs_of(plan_, inputs, results);
}

}  // namespace sheaf::runtime

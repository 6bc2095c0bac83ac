#include "compiler/gpu_kernel.h"

#include <algorithm>

#include "codegen/block/block.h"
#include "codegen/gpu/table.h"
#include "kernels/kernels.h"
#include "passes/loop/expand_math.h"
#include "passes/loop/hoist.h"
#include "support/error.h"

namespace sheaf::compiler {
namespace {

namespace gpu = codegen::gpu;

// Programs whose sizes never repeat would keep a program for each.
constexpr size_t kMaxPrograms = 512;

bool calls_routines(const loop::Kernel& k) {
  bool found = false;
  gpu::each_stmt(k.body, [&](const loop::Stmt& s) { found |= s.kind == loop::Stmt::Call; });
  return found;
}

}  // namespace

// The first line says how the launch is scheduled, which may differ where the text does not.
GpuText text_of(const gpu::EmittedLaunch& l, const std::string& helpers) {
  return {l.name, helpers + "\n" + l.text.substr(l.text.find('\n') + 1)};
}

GpuKernel::GpuKernel(loop::Kernel kernel, runtime::CudaDevice& device, GpuModules& modules)
    : kernel_(std::move(kernel)),
      device_(device),
      modules_(modules),
      strides_(kernel_),
      has_host_routines_(calls_routines(kernel_)) {}

// A library knows nothing of checks that have failed.
gpu::Facilities GpuKernel::facilities(runtime::LaunchForm form) const {
  const bool units = device_.target().matrix_units;
  gpu::Facilities out{form.aligned, units, units && runtime::g_matrix_units};
  if (out.matrix_units && runtime::g_library_products && !form.guarded)
    out.library = [this](const runtime::LibraryProduct& product) -> std::optional<int64_t> {
      const auto planned = device_.plan_product(product);
      return planned ? std::optional(planned->workspace_bytes()) : std::nullopt;
    };
  return out;
}

GpuKernel::Version GpuKernel::version(std::span<const int64_t> sizes, runtime::LaunchForm form) const {
  Version v;
  v.kernel = std::make_shared<loop::Kernel>(
      passes::expand_math(passes::hoist_invariants(passes::specialize(kernel_, strides_.known(sizes)), sizes)));
  gpu::Helpers helpers(gpu::cuda());
  v.program = gpu::make_program(*v.kernel, sizes, "k", helpers, facilities(form));
  if (form.guarded)
    for (auto& step : v.program.steps)
      if (auto* l = std::get_if<gpu::EmittedLaunch>(&step)) gpu::guard(*l);
  v.helpers = helpers.text();
  return v;
}

std::shared_ptr<const runtime::DeviceProgram> GpuKernel::find(const Key& key) const {
  MutexLock lock(mu_);
  auto it = programs_.find(key);
  return it == programs_.end() ? nullptr : it->second;
}

void GpuKernel::add_texts(std::span<const int64_t> sizes, runtime::LaunchForm form, std::vector<GpuText>& texts) const {
  if (find({{sizes.begin(), sizes.end()}, form})) return;
  const Version v = version(sizes, form);
  for (const auto& step : v.program.steps)
    if (auto* l = std::get_if<gpu::EmittedLaunch>(&step); l && l->schedule.blocks > 0)
      texts.push_back(text_of(*l, v.helpers));
}

std::optional<GpuKernel::Entry> GpuKernel::table_entry(std::span<const int64_t> sizes, runtime::LaunchForm form) const {
  if (has_host_routines_) return std::nullopt;
  Version v = version(sizes, form);
  if (v.program.steps.size() != 1) return std::nullopt;
  auto* const l = std::get_if<gpu::EmittedLaunch>(&v.program.steps[0]);
  if (!l || !gpu::fits_table(*l)) return std::nullopt;
  return Entry{std::move(*l), std::move(v.helpers)};
}

std::string GpuKernel::algorithm_text(std::span<const int64_t> sizes) const {
  return gpu::algorithm_text(kernel_, sizes, facilities({}));
}

runtime::LibraryCall GpuKernel::library_call(const gpu::LibraryCall& call) const {
  return {{call.a, call.b, call.c, call.workspace},
          [planned = device_.plan_product(call.product)](std::span<const uint64_t> at, void* stream) {
            planned->submit(at[0], at[1], at[2], at[3], stream);
          }};
}

// Runs the routine, or the whole kernel where a loop calls one.
runtime::HostRoutine GpuKernel::host_routine(const Version& v, const gpu::HostCall& call,
                                             std::span<const int64_t> sizes) const {
  runtime::HostRoutine out;
  auto add_buffer = [&](size_t b) { out.buffers.push_back({static_cast<int>(b), v.kernel->buffers[b].written}); };
  if (!call.call) {
    for (size_t b = 0; b < v.kernel->buffers.size(); ++b)
      add_buffer(b);
    auto block = codegen::BlockKernel::compile(*v.kernel, device_.target());
    out.run = [block, own = std::vector<int64_t>(sizes.begin(), sizes.end())](std::span<std::byte* const> buffers,
                                                                              int64_t& payload) {
      loop::CheckRecord check;
      block->run(buffers, own, check);
      payload = check.payload;
      return check.site;
    };
    return out;
  }
  for (int32_t b : call.call->buffers)
    add_buffer(static_cast<size_t>(b));
  const routines::Routine routine = kernels::find_fast_routine(call.routine);
  INVARIANT(routine, "there is no routine " << call.routine);
  out.run = [routine, arithmetic = kernels::arithmetic_of(device_.target()),
             arguments = gpu::call_arguments(*v.kernel, *call.call, sizes)](std::span<std::byte* const> buffers,
                                                                            int64_t&) {
    routine({buffers, arithmetic}, arguments);
    return -1;
  };
  return out;
}

std::shared_ptr<const runtime::DeviceProgram> GpuKernel::program(std::span<const int64_t> sizes,
                                                                 runtime::LaunchForm form) const {
  Key key{{sizes.begin(), sizes.end()}, form};
  if (auto known = find(key)) return known;
  const Version v = version(sizes, form);
  auto out = std::make_shared<runtime::DeviceProgram>();
  for (const auto& step : v.program.steps) {
    if (auto* call = std::get_if<gpu::HostCall>(&step)) {
      out->steps.emplace_back(host_routine(v, *call, sizes));
      continue;
    }
    if (auto* call = std::get_if<gpu::LibraryCall>(&step)) {
      out->workspace_bytes = std::max(out->workspace_bytes, call->workspace_bytes);
      out->steps.emplace_back(library_call(*call));
      continue;
    }
    const auto& l = std::get<gpu::EmittedLaunch>(step);
    if (l.schedule.blocks == 0) continue;
    out->workspace_bytes = std::max(out->workspace_bytes, l.workspace_bytes);
    out->steps.emplace_back(runtime::DeviceKernel{modules_.function(text_of(l, v.helpers)), l.schedule.blocks,
                                                  l.schedule.threads, l.parameters});
  }
  MutexLock lock(mu_);
  if (programs_.size() >= kMaxPrograms) programs_.clear();
  return programs_.emplace(std::move(key), std::move(out)).first->second;
}

}  // namespace sheaf::compiler

#include "compiler/gpu_backend.h"

#include <fmt/format.h>

#include "codegen/gpu/library_products.h"
#include "codegen/gpu/table.h"
#include "compiler/eager.h"
#include "compiler/gpu_table.h"
#include "compiler/launch_tables.h"
#include "compiler/pipeline.h"
#include "runtime/device_runner.h"
#include "runtime/device_walk.h"
#include "support/phases.h"

namespace sheaf::compiler {
namespace {

// Calls f(launch, guarded) for the launches of a plan and of plans nested in its steps. `guarded` starts as that of the
// enclosing step.
template <class F>
void each_launch_inside(const runtime::Plan& plan, bool can_fail, bool guarded, const F& f) {
  for (const runtime::Step& step : plan.steps) {
    const bool g = guarded || (can_fail && writes_given_up(step, plan));
    each_launch(step, [&](const runtime::Launch& l) { f(l, g); });
    auto inside = [&](const std::shared_ptr<const runtime::Plan>& p) {
      if (p) each_launch_inside(*p, false, g, f);
    };
    if (auto* s = std::get_if<runtime::CallStep>(&step)) inside(s->body);
    if (auto* s = std::get_if<runtime::CondStep>(&step)) inside(s->yes), inside(s->no);
    if (auto* s = std::get_if<runtime::ScanStep>(&step)) inside(s->body);
    if (auto* s = std::get_if<runtime::WhileStep>(&step)) inside(s->test), inside(s->body), inside(s->reverse);
  }
}

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(runtime::CudaDevice& device) : device_(device), modules_(device) {
    device.set_copy_elements(copy_elements);
  }
  const runtime::Target& target() const override { return device_.target(); }
  // Loops keep their independent iterations: schedules distribute them over threads.
  loop::Kernel prepared(loop::Kernel kernel) const override { return kernel; }
  std::shared_ptr<const runtime::Code> code(loop::Kernel kernel, KernelUse, std::string) const override {
    return std::make_shared<GpuKernel>(std::move(kernel), device_, modules_);
  }
  std::shared_ptr<const runtime::Code> product(const ProductSpec&) const override { return nullptr; }
  int64_t factor_line_bytes() const override {
    return target().matrix_units && runtime::g_matrix_units ? runtime::kLibraryAlignment : 0;
  }
  int64_t result_line(const routines::GemmArgs<>& args) const override {
    if (!target().matrix_units || !runtime::g_matrix_units || !runtime::g_library_products) return 0;
    const std::optional<int64_t> line = codegen::gpu::library_line_of(args);
    if (!line || *line == args.n) return 0;
    routines::GemmArgs<> in_lines = args;
    in_lines.line = *line;
    return device_.plan_product(codegen::gpu::library_product(in_lines)) ? *line : 0;
  }
  bool materializes_factors() const override { return true; }
  void refine_product(const routines::GemmArgs<>&, runtime::Launch&) const override {}
  // GPU programs compute their workspace when their sizes are known.
  int64_t workspace_bytes(const runtime::Launch&) const override { return 0; }
  void arrange(runtime::Plan& plan) const override {
    // --check compares launches one by one.
    if (runtime::g_run_launch || !is_enabled("tables")) return;
    Phase phase("tables");
    std::map<std::pair<const runtime::Code*, std::vector<int64_t>>, std::optional<TableMaker::Kind>> known;
    make_tables(plan, {.kind =
                           [&](const runtime::Launch& l) {
                             auto [at, fresh] = known.try_emplace({l.kernel.get(), l.sizes});
                             if (fresh) at->second = table_kind(l);
                             return at->second;
                           },
                       .code = [&](const runtime::Launch& l, size_t count) -> std::shared_ptr<const runtime::Code> {
                         return std::make_shared<GpuTable>(std::static_pointer_cast<const GpuKernel>(l.kernel), count,
                                                           modules_);
                       }});
  }
  std::shared_ptr<runtime::RunWatcher> new_watcher() const override { return nullptr; }
  bool find_code(const runtime::Plan&) const override { return false; }
  // Compiles the kernels of a plan in parallel on all processors, not one by one at their first launches.
  std::shared_ptr<const runtime::Runner> finish(runtime::Plan plan) const override {
    std::vector<GpuText> texts;
    {
      Phase phase("gpu text");
      each_launch_inside(plan, can_fail(plan), false, [&](const runtime::Launch& l, bool guarded) {
        static_cast<const GpuCode&>(*l.kernel).add_texts(l.sizes, {true, guarded}, texts);
      });
    }
    modules_.prepare(texts);
    return std::make_shared<runtime::DeviceRunner>(std::move(plan), device_);
  }
  std::string algorithm_text(const runtime::Launch& l) const override {
    return static_cast<const GpuCode&>(*l.kernel).algorithm_text(l.sizes);
  }

 private:
  static std::optional<TableMaker::Kind> table_kind(const runtime::Launch& l) {
    auto entry = static_cast<const GpuKernel&>(*l.kernel).table_entry(l.sizes, {});
    if (!entry) return std::nullopt;
    const auto bytes = static_cast<int64_t>(entry->launch.parameters.size() + 2) * 8;  // and `failed`, and its block
    return TableMaker::Kind{text_of(entry->launch, entry->helpers).text + fmt::format("{}", fmt::ptr(l.kernel.get())),
                            static_cast<size_t>(codegen::gpu::kMaxParameterBytes / bytes)};
  }

  runtime::CudaDevice& device_;
  mutable GpuModules modules_;
};

}  // namespace

const Backend& gpu_backend(runtime::CudaDevice& device) {
  static const GpuBackend backend(device);
  return backend;
}

}  // namespace sheaf::compiler

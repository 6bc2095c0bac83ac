#include "compiler/gpu_table.h"

#include "codegen/gpu/table.h"

namespace sheaf::compiler {

namespace gpu = codegen::gpu;

std::optional<GpuTable::Table> GpuTable::table(std::span<const int64_t> sizes, runtime::LaunchForm form) const {
  std::vector<gpu::EmittedLaunch> parts;
  std::string helpers;
  for (size_t i = 0; i < count_; ++i) {
    auto entry = kernel_->table_entry(sizes_of(sizes, i), form);
    if (!entry || (i > 0 && entry->helpers != helpers)) return std::nullopt;
    helpers = std::move(entry->helpers);
    parts.push_back(std::move(entry->launch));
  }
  auto launch = gpu::make_table(parts, static_cast<int>(kernel_->kernel().buffers.size()),
                                static_cast<int>(sizes.size() / count_), gpu::cuda());
  if (!launch) return std::nullopt;
  return Table{std::move(*launch), std::move(helpers)};
}

std::shared_ptr<const runtime::DeviceProgram> GpuTable::find(const Key& key) const {
  MutexLock lock(mu_);
  auto it = programs_.find(key);
  return it == programs_.end() ? nullptr : it->second;
}

void GpuTable::add_texts(std::span<const int64_t> sizes, runtime::LaunchForm form, std::vector<GpuText>& texts) const {
  if (find({{sizes.begin(), sizes.end()}, form})) return;
  if (auto t = table(sizes, form)) texts.push_back(text_of(t->launch, t->helpers));
}

std::shared_ptr<const runtime::DeviceProgram> GpuTable::program(std::span<const int64_t> sizes,
                                                                runtime::LaunchForm form) const {
  Key key{{sizes.begin(), sizes.end()}, form};
  if (auto known = find(key)) return known;
  auto out = std::make_shared<runtime::DeviceProgram>();
  if (auto t = table(sizes, form)) {
    const gpu::EmittedLaunch& l = t->launch;
    out->steps.emplace_back(runtime::DeviceKernel{modules_.function(text_of(l, t->helpers)), l.schedule.blocks,
                                                  l.schedule.threads, l.parameters, true});
  } else {
    const auto buffers = static_cast<int>(kernel_->kernel().buffers.size()),
               numbers = static_cast<int>(sizes.size() / count_);
    for (size_t i = 0; i < count_; ++i) {
      const auto part = kernel_->program(sizes_of(sizes, i), form);
      out->workspace_bytes = std::max(out->workspace_bytes, part->workspace_bytes);
      for (const auto& step : part->steps) {
        auto kernel = std::get<runtime::DeviceKernel>(step);
        for (runtime::KernelParameter& p : kernel.parameters) {
          if (p.kind == runtime::KernelParameter::Buffer) p.index += static_cast<int>(i) * buffers;
          if (p.kind == runtime::KernelParameter::Size) p.index += static_cast<int>(i) * numbers;
        }
        out->steps.emplace_back(std::move(kernel));
      }
    }
  }
  MutexLock lock(mu_);
  return programs_.emplace(std::move(key), std::move(out)).first->second;
}

}  // namespace sheaf::compiler

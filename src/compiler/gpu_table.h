// Code of a launch that stands for several launches of one kernel: its buffers and sizes are theirs, concatenated.
#pragma once
#include <memory>

#include "compiler/gpu_kernel.h"

namespace sheaf::compiler {

class GpuTable final : public GpuCode {
 public:
  GpuTable(std::shared_ptr<const GpuKernel> kernel, size_t count, GpuModules& modules)
      : kernel_(std::move(kernel)), count_(count), modules_(modules) {}
  // One kernel over a table, or the kernels of all launches if their texts differ after all (unaligned arrays, say).
  std::shared_ptr<const runtime::DeviceProgram> program(std::span<const int64_t> sizes,
                                                        runtime::LaunchForm form) const override;
  bool has_host_routines() const override { return false; }
  void add_texts(std::span<const int64_t> sizes, runtime::LaunchForm form, std::vector<GpuText>& texts) const override;
  std::string algorithm_text(std::span<const int64_t>) const override { return ""; }

 private:
  struct Table {
    codegen::gpu::EmittedLaunch launch;
    std::string helpers;
  };
  std::optional<Table> table(std::span<const int64_t> sizes, runtime::LaunchForm form) const;
  std::span<const int64_t> sizes_of(std::span<const int64_t> sizes, size_t part) const {
    return sizes.subspan(part * (sizes.size() / count_), sizes.size() / count_);
  }
  using Key = std::pair<std::vector<int64_t>, runtime::LaunchForm>;
  std::shared_ptr<const runtime::DeviceProgram> find(const Key& key) const;

  std::shared_ptr<const GpuKernel> kernel_;
  size_t count_;
  GpuModules& modules_;
  mutable Mutex mu_;
  mutable std::map<Key, std::shared_ptr<const runtime::DeviceProgram>> programs_ GUARDED_BY(mu_);
};

}  // namespace sheaf::compiler

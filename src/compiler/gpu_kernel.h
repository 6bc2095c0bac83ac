// A kernel of the loop IR as code of a CUDA device. Its text depends on which strides are 0 or 1 and on the schedule,
// which depends on sizes; so it is generated when sizes first occur. Thread-safe.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "codegen/gpu/program.h"
#include "compiler/check.h"
#include "compiler/gpu_modules.h"
#include "loop/ir.h"
#include "passes/loop/specialize.h"
#include "runtime/device_code.h"
#include "support/mutex.h"

namespace sheaf::compiler {

class GpuCode : public runtime::DeviceCode {
 public:
  // Adds the texts that launches of these sizes will run, unless their program exists.
  virtual void add_texts(std::span<const int64_t> sizes, runtime::LaunchForm form,
                         std::vector<GpuText>& texts) const = 0;
  // For people: how a product is computed, and why. Empty for other kernels.
  virtual std::string algorithm_text(std::span<const int64_t> sizes) const = 0;
};

GpuText text_of(const codegen::gpu::EmittedLaunch& l, const std::string& helpers);

class GpuKernel final : public GpuCode, public DeviceCheckable {
 public:
  GpuKernel(loop::Kernel kernel, runtime::CudaDevice& device, GpuModules& modules);
  std::shared_ptr<const runtime::DeviceProgram> program(std::span<const int64_t> sizes,
                                                        runtime::LaunchForm form) const override;
  bool has_host_routines() const override { return has_host_routines_; }

  const loop::Kernel& kernel() const override { return kernel_; }
  std::string algorithm_text(std::span<const int64_t> sizes) const override;
  void add_texts(std::span<const int64_t> sizes, runtime::LaunchForm form, std::vector<GpuText>& texts) const override;
  // The launch for these sizes and the functions it calls, if it can be an entry of a table (gpu_table.h).
  struct Entry {
    codegen::gpu::EmittedLaunch launch;
    std::string helpers;
  };
  std::optional<Entry> table_entry(std::span<const int64_t> sizes, runtime::LaunchForm form) const;

 private:
  // The kernel for a pattern of strides, and its text for sizes.
  struct Version {
    std::shared_ptr<const loop::Kernel> kernel;
    codegen::gpu::EmittedProgram program;
    std::string helpers;
  };
  Version version(std::span<const int64_t> sizes, runtime::LaunchForm form) const;
  codegen::gpu::Facilities facilities(runtime::LaunchForm form) const;
  runtime::HostRoutine host_routine(const Version& v, const codegen::gpu::HostCall& call,
                                    std::span<const int64_t> sizes) const;
  runtime::LibraryCall library_call(const codegen::gpu::LibraryCall& call) const;
  using Key = std::pair<std::vector<int64_t>, runtime::LaunchForm>;
  std::shared_ptr<const runtime::DeviceProgram> find(const Key& key) const;

  loop::Kernel kernel_;
  runtime::CudaDevice& device_;
  GpuModules& modules_;
  passes::StrideSizes strides_;
  bool has_host_routines_;
  mutable Mutex mu_;
  mutable std::map<Key, std::shared_ptr<const runtime::DeviceProgram>> programs_ GUARDED_BY(mu_);
};

}  // namespace sheaf::compiler

// Kernel texts to functions of a CUDA device: found in memory, on disk, or compiled, many at once. Kernels of equal
// text share a function. Thread-safe.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>

#include "compiler/code_store.h"
#include "runtime/device_cuda.h"
#include "support/mutex.h"

namespace sheaf::compiler {

struct GpuText {
  std::string name, text;  // of the kernel; the functions it calls precede it
};

class GpuModules {
 public:
  explicit GpuModules(runtime::CudaDevice& device) : device_(device) {}
  // Compiles the missing ones on all processors.
  void prepare(std::span<const GpuText> texts);
  void* function(const GpuText& text);

 private:
  CodeKey key_of(const GpuText& text) const;
  void* find(const CodeKey& key) const;
  void* make(const CodeKey& key, const GpuText& text);

  runtime::CudaDevice& device_;
  mutable Mutex mu_;
  CondVar made_;
  std::map<CodeKey, void*> functions_ GUARDED_BY(mu_);
  std::set<CodeKey> in_work_ GUARDED_BY(mu_);
};

}  // namespace sheaf::compiler

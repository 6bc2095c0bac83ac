// A kernel that starts in the block executor and switches to native code once it has run long enough to pay for
// compiling; code found on disk is used from the first launch. Both executors give the same bits, so the switch is
// invisible. Thread-safe.
//
// Native code is compiled for a pattern of strides: which strides along vector axes are 0, 1 or other, and how long
// short rows are.
// Launches with another pattern stay in the block executor until they have run long enough for code of their own.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "codegen/block/block.h"
#include "compiler/backend.h"
#include "compiler/check.h"
#include "compiler/native_code.h"
#include "loop/ir.h"
#include "passes/loop/specialize.h"
#include "runtime/plan.h"
#include "support/mutex.h"

namespace sheaf::compiler {

// The total time of runs that may be shorter than reading the clock takes: short runs are sampled and weighted.
class SampledTime {
 public:
  // How many runs the next one stands for; 0: do not time it.
  int weight() const;
  // Adds a run and returns the total.
  int64_t add(int64_t ns, int weight);
  int64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  void reset() { sum_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> sum_{0}, last_ns_{INT64_MAX};
};

// Native: compile every kernel at its first launch. Without LLVM every kernel runs in the block executor.
enum class Executor : uint8_t { Auto, Block, Native };
void set_executor(Executor e);

class TieredKernel final : public CheckableKernel {
 public:
  // In a graph, the kernel is compiled on its own only when one run takes very long (contains a long loop). `text` is
  // the kernel's text, if the caller has it already.
  explicit TieredKernel(loop::Kernel kernel, KernelUse use = KernelUse::Alone, std::string text = {});
  ~TieredKernel() override;
  int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const override;

  // Time spent in the block executor since native code was last compiled.
  int64_t block_ns() const { return block_time_.sum(); }
  // Estimated compile time.
  int64_t compile_ns() const { return compile_ns_; }
  // True if launches with these sizes run natively; looks for code on disk the first time.
  bool is_native(std::span<const int64_t> sizes) const;
  // True if native code is possible and worth compiling.
  bool is_compilable() const { return worth_compiling_ && !failed_.load(std::memory_order_relaxed); }
  CodeKey key(std::span<const int64_t> sizes) const;
  // Finds or compiles code for launches with these sizes; nullptr if that fails.
  const runtime::CpuKernel* compile(std::span<const int64_t> sizes) const;
  const loop::Kernel& kernel() const override { return kernel_; }
  // The text that identifies the kernel.
  const std::string& text() const;
  // The kernel from which native code is compiled.
  loop::Kernel specialized(std::span<const int64_t> sizes) const;
  int run_block(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const override;

 private:
  // The code for a pattern, or the fact that there was none on disk.
  struct Pattern {
    uint64_t strides, rows;
    bool operator==(const Pattern&) const = default;
  };
  struct Version {
    Pattern pattern;
    NativeCode code;
    const Version* next;
  };
  Pattern pattern(std::span<const int64_t> sizes) const;
  const Version* find(Pattern pattern) const;
  const runtime::CpuKernel* ready_code(std::span<const int64_t> sizes) const;
  void install(Pattern pattern, NativeCode code) const;
  const codegen::BlockKernel& block() const;
  bool takes_long(std::span<const int64_t> sizes) const;
  std::vector<passes::KnownSize> known_sizes(std::span<const int64_t> sizes) const;

  loop::Kernel kernel_;
  std::string made_for_;  // the first function that needed it
  passes::StrideSizes strides_;
  passes::ShortRows short_rows_;
  bool worth_compiling_;  // contains more than calls of routines
  int64_t compile_ns_, patience_;
  // Created by the first run that needs it: with code on disk few kernels do.
  mutable std::shared_ptr<const codegen::BlockKernel> block_ GUARDED_BY(installing_);
  mutable std::atomic<const codegen::BlockKernel*> block_ready_{nullptr};
  mutable std::once_flag printed_;
  mutable std::string text_;
  mutable SampledTime block_time_;
  mutable std::atomic<bool> failed_{false};
  mutable std::atomic<const Version*> versions_{nullptr};
  mutable Mutex installing_;
};

// Compiles native code for the kernels of a plan that have none and have run for at least `min_block_ns`, each distinct
// one once, on all threads.
void compile_natively(const runtime::Plan& plan, int64_t min_block_ns);

// Watches the runs of a plan: compiles all its kernels at once when together they have spent enough time.
class PlanTier final : public runtime::RunWatcher {
 public:
  int weight() const override { return spent_.weight(); }
  void after_run(const runtime::Plan& plan, int64_t elapsed_ns, int weight) override;

 private:
  SampledTime spent_;
};

}  // namespace sheaf::compiler

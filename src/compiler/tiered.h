// A kernel that starts in the block executor and becomes native code once it has run long enough to pay for compiling.
// Both give the same bits, so nobody sees the switch. Thread-safe.
//
// Native code is made for a pattern of strides: which of the strides along vector axes are 0, 1 or something else. Launches
// with another pattern keep to the block executor until they have earned code of their own.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "codegen/block/block.h"
#include "loop/ir.h"
#include "passes/loop/specialize.h"
#include "runtime/executable.h"

namespace sheaf::compiler {

// Native: compile everything at its first launch. Without LLVM everything runs in the block executor.
enum class Backend : uint8_t { Auto, Block, Native };
void set_backend(Backend b);

class TieredKernel final : public runtime::Kernel {
 public:
  explicit TieredKernel(loop::Kernel kernel);
  ~TieredKernel() override;
  int run(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const override;

  // Time spent in the block executor since native code was last made.
  int64_t block_ns() const { return block_ns_.load(std::memory_order_relaxed); }
  bool is_native(std::span<const int64_t> sizes) const { return find(pattern(sizes)) != nullptr; }

 private:
  friend void compile_natively(std::span<const runtime::Launch> launches, int64_t min_block_ns);
  struct Version {
    uint64_t pattern;
    std::shared_ptr<const runtime::Kernel> code;
    const Version* next;
  };
  uint64_t pattern(std::span<const int64_t> sizes) const;
  const runtime::Kernel* find(uint64_t pattern) const;
  loop::Kernel specialized(std::span<const int64_t> sizes) const;
  void install(uint64_t pattern, std::shared_ptr<const runtime::Kernel> code) const;
  const runtime::Kernel* compile_one(std::span<const int64_t> sizes) const;
  int run_block(std::span<std::byte* const> buffers, std::span<const int64_t> sizes, int64_t& payload) const;

  loop::Kernel kernel_;
  passes::StrideSizes strides_;
  bool worth_compiling_;  // something else than calls of routines
  std::shared_ptr<const codegen::BlockKernel> block_;
  mutable std::atomic<int64_t> block_ns_{0};
  mutable std::atomic<bool> failed_{false};
  mutable std::atomic<const Version*> versions_{nullptr};
  mutable std::mutex compiling_;  // held by the one thread that makes code
};

// Makes native code for the kernels of these launches that have none and took that long, as one batch on two threads.
void compile_natively(std::span<const runtime::Launch> launches, int64_t min_block_ns);

// Watches the runs of an executable: when its kernels together have spent enough time, all are compiled at once.
class ExecutableTier {
 public:
  void after_run(std::span<const runtime::Launch> launches, int64_t elapsed_ns);

 private:
  std::atomic<int64_t> spent_ns_{0};
};

}  // namespace sheaf::compiler

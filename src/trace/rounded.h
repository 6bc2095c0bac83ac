// Inputs that compiled code reads rounded to a narrow float (passes/graph/keep_rounded.h). The previous run left the
// rounded copies with its results; missing ones are computed here.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "compiler/compile.h"
#include "passes/graph/keep_rounded.h"
#include "support/mutex.h"

namespace sheaf::trace {

class RoundedInputs {
 public:
  // Returns null if g has no such inputs.
  static std::unique_ptr<RoundedInputs> find(const graph::Graph& g, const compiler::Backend& backend);

  // Runs the code; a drop-in replacement for compiler::run on g.
  std::vector<Tensor> run(std::vector<Tensor> inputs, std::vector<uint8_t> given_up,
                          std::span<const uint8_t> wanted_here) const;
  const compiler::Compiled& code() const { return *code_; }

 private:
  RoundedInputs(graph::Graph plain, passes::KeptRounded kept, const compiler::Backend& backend);
  const compiler::Compiled& plain() const;

  const compiler::Backend& backend_;
  std::vector<passes::RoundedInput> rounded_;
  std::shared_ptr<const compiler::Compiled> code_;
  // Consecutive runs that found too few rounded copies. After several, the plain code is used: results do not become
  // arguments of the next run.
  mutable std::atomic<int> misses_{0};
  mutable Mutex mu_;
  graph::Graph plain_;
  mutable std::shared_ptr<const compiler::Compiled> plain_code_ GUARDED_BY(mu_);
};

}  // namespace sheaf::trace

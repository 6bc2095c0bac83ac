// Runs the prologue of a product for the rows that are about to be read. Any thread may ask for some.
#pragma once
#include <memory>
#include <mutex>

#include "runtime/cpu_runner.h"

namespace sheaf::runtime {

class PrologueRunner {
 public:
  // `whole`: the addresses of its buffers.
  PrologueRunner(const PrologueLaunch& prologue, Pointers whole) : prologue_(prologue), whole_(std::move(whole)) {}
  // The address of the first row (PrologueFn). With `keep` rows stay valid as long as this lives.
  const std::byte* make(int64_t row, int64_t rows, bool keep);
  PrologueSource source() const;

 private:
  std::byte* place_for(int64_t row, int64_t rows, bool keep);

  const PrologueLaunch& prologue_;
  const Pointers whole_;
  std::once_flag is_materialized_;
  Ref<Buffer> matrix_;  // all of A, where some rows must stay
};

}  // namespace sheaf::runtime

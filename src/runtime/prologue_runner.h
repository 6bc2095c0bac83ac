// Runs the prologue of a GEMM for rows of A before they are read. Any thread may request rows.
#pragma once
#include <memory>
#include <mutex>

#include "runtime/cpu_runner.h"

namespace sheaf::runtime {

class PrologueRunner {
 public:
  // `whole`: the addresses of the prologue's buffers.
  PrologueRunner(const PrologueLaunch& prologue, Pointers whole) : prologue_(prologue), whole_(std::move(whole)) {}
  // Computes rows and returns the address of the first (PrologueFn). With `keep`, rows are valid as long as this
  // object.
  const std::byte* make(int64_t row, int64_t rows, bool keep);
  PrologueSource source() const;

 private:
  std::byte* place_for(int64_t row, int64_t rows, bool keep);

  const PrologueLaunch& prologue_;
  const Pointers whole_;
  std::once_flag is_materialized_;
  Ref<Buffer> matrix_;  // all of A, allocated if some rows are kept
};

}  // namespace sheaf::runtime

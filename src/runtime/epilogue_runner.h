// Runs the epilogue of a GEMM on each tile of C when it is complete. Any thread may deliver a tile.
#pragma once
#include <atomic>
#include <memory>

#include "runtime/cpu_runner.h"

namespace sheaf::runtime {

class EpilogueRunner {
 public:
  // `whole`: the addresses of the epilogue's buffers.
  EpilogueRunner(const EpilogueLaunch& epilogue, Pointers whole);
  void take(const Tile& tile);
  // Call after the last tile: runs the units that take() has not run.
  void finish();

 private:
  void run(const Tile& tile) const;
  void run_units(int64_t first, int64_t last);
  void add_to_unit(int64_t unit, int64_t elements);

  const EpilogueLaunch& epilogue_;
  const Pointers whole_;
  const int64_t units_;
  std::unique_ptr<std::atomic<int32_t>[]> complete_;  // number of complete elements, by unit
};

}  // namespace sheaf::runtime

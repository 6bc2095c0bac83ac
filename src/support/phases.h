// Where the time of making code goes: wall time by phase, without what is spent in phases inside it. Thread-safe; costs
// two clock reads for each phase, so it is always on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

class Phase {
 public:
  explicit Phase(const char* name);  // a literal: kept as it is
  ~Phase();
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  const char* name_;
  Phase* outer_;
  int64_t start_ns_, inside_ns_ = 0;
};

struct PhaseTime {
  std::string name;
  uint64_t count = 0;
  int64_t ns = 0;
};
// In the order in which they were first left.
std::vector<PhaseTime> phase_times();

}  // namespace sheaf

// Profile of compile time: wall time by phase, excluding nested phases. Thread-safe; costs two clock reads per phase,
// so it is always on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

class Phase {
 public:
  explicit Phase(const char* name);  // must be a literal: the pointer is kept
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
// In the order in which the phases first ended.
std::vector<PhaseTime> phase_times();

}  // namespace sheaf

// --mem-profile: resident memory at checkpoints and its peak, sampled by a thread of its own.
#pragma once
#include <string>
#include <thread>
#include <vector>

#include "support/mutex.h"

namespace sheaf::tools {

class MemoryProfile {
 public:
  MemoryProfile();
  ~MemoryProfile();
  void checkpoint(std::string name);
  std::string report();

 private:
  struct Point {
    std::string name;
    size_t rss_bytes;
  };
  void sample();

  Mutex mu_;
  std::vector<Point> points_ GUARDED_BY(mu_);
  CondVar wake_;
  bool stop_ GUARDED_BY(mu_) = false;
  size_t sampled_peak_ GUARDED_BY(mu_) = 0;
  std::thread sampler_;
};

}  // namespace sheaf::tools

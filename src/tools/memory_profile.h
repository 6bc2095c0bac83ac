// --mem-profile: resident memory at checkpoints and its peak, sampled by a separate thread.
#pragma once
#include <string>
#include <vector>

#include "support/mutex.h"
#include "support/periodic_thread.h"

namespace sheaf::tools {

class MemoryProfile {
 public:
  MemoryProfile();
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
  size_t sampled_peak_ GUARDED_BY(mu_) = 0;
  PeriodicThread sampler_;
};

}  // namespace sheaf::tools

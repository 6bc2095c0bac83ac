// --mem-profile: resident memory at checkpoints and its peak, sampled by a thread of its own.
#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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

  std::mutex mu_;
  std::vector<Point> points_;  // guarded by mu_
  std::condition_variable wake_;
  bool stop_ = false;        // guarded by mu_
  size_t sampled_peak_ = 0;  // guarded by mu_
  std::thread sampler_;
};

}  // namespace sheaf::tools

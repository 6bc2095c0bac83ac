// An allocator for device memory: cuts blocks from large segments of the driver. A freed block can be reused at once,
// since the steps of a device run in order. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "support/mutex.h"

namespace sheaf::runtime {

class DeviceMemory {
 public:
  using Allocate = std::function<uint64_t(size_t bytes)>;  // 0: out of memory
  using Release = std::function<void(uint64_t address)>;
  DeviceMemory(Allocate allocate, Release release) : allocate_(std::move(allocate)), release_(std::move(release)) {}

  // Allocates a multiple of kBlockBytes; 0 if the device has no more memory.
  uint64_t take(size_t bytes);
  void give(uint64_t address, size_t bytes);
  size_t in_use() const;
  size_t peak() const;  // the most that was in use
  // Limits the total size of all segments.
  void set_limit(size_t bytes);
  // Returns unused segments to the driver. `before`: called first, without the lock, if there are any.
  void trim(const std::function<void()>& before);

  static constexpr size_t kBlockBytes = 512, kSegmentBytes = 64 << 20, kSegmentGrain = 2 << 20;

 private:
  uint64_t take_free(size_t size) REQUIRES(mu_);
  uint64_t new_segment(size_t size);
  void add_use(size_t size) REQUIRES(mu_);
  void add_free(uint64_t address, size_t size) REQUIRES(mu_);
  void remove_free(std::map<uint64_t, size_t>::iterator block) REQUIRES(mu_);

  const Allocate allocate_;
  const Release release_;
  mutable Mutex mu_;
  std::map<uint64_t, size_t> segments_ GUARDED_BY(mu_);            // by address
  std::map<uint64_t, size_t> free_ GUARDED_BY(mu_);                // by address
  std::set<std::pair<size_t, uint64_t>> by_size_ GUARDED_BY(mu_);  // the same
  size_t in_use_ GUARDED_BY(mu_) = 0, peak_ GUARDED_BY(mu_) = 0;
  size_t segment_bytes_ GUARDED_BY(mu_) = 0, limit_ GUARDED_BY(mu_) = std::numeric_limits<size_t>::max();
};

}  // namespace sheaf::runtime

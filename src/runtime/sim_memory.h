// The memory of the simulated device: an in-memory file that is mapped twice. It returns addresses in a mapping without
// access rights, so host code that dereferences one crashes at that line; the device uses the other mapping.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>

#include "support/mutex.h"

namespace sheaf::runtime {

class SimMemory {
 public:
  SimMemory();
  // 0: there is no more. Thread-safe, as all of them.
  uint64_t take(size_t bytes);
  void give(uint64_t address, size_t bytes);
  // Makes the allocation of that number, counted from now, fail; 0: none.
  void fail_allocation(int64_t number);
  size_t in_use() const;
  size_t peak() const;
  // Limits the bytes in use.
  void set_limit(size_t bytes);
  // Translates a device address to the accessible mapping; returns host addresses unchanged.
  std::byte* real(uint64_t address) const;

 private:
  uint64_t locked_ = 0;        // the mapping without access
  std::byte* open_ = nullptr;  // the other one
  mutable Mutex mu_;
  std::map<uint64_t, size_t> free_ GUARDED_BY(mu_);  // by offset; adjacent blocks are merged
  // Freed blocks are quarantined before they are reused: otherwise a read that comes too early would often find equal
  // values of an earlier run, and go unnoticed.
  struct Block {
    uint64_t offset;
    size_t bytes;
  };
  std::deque<Block> resting_ GUARDED_BY(mu_);
  size_t resting_bytes_ GUARDED_BY(mu_) = 0;
  void wake_oldest() REQUIRES(mu_);
  std::map<uint64_t, size_t>::iterator find_room(size_t bytes) REQUIRES(mu_);
  size_t in_use_ GUARDED_BY(mu_) = 0, peak_ GUARDED_BY(mu_) = 0;
  size_t limit_ GUARDED_BY(mu_) = std::numeric_limits<size_t>::max();
  int64_t taken_ GUARDED_BY(mu_) = 0, failing_ GUARDED_BY(mu_) = 0;
};

}  // namespace sheaf::runtime

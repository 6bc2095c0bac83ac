// The memory of the simulated device: a file in memory that is mapped twice. The addresses that it hands out lie in a
// mapping without access, so host code that follows one dies at that line; the device uses the other mapping.
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
  // The allocation of that number, counted from now, fails; 0: none does.
  void fail_allocation(int64_t number);
  size_t in_use() const;
  size_t peak() const;
  // No more is in use at any time.
  void set_limit(size_t bytes);
  // Where the device finds what `address` stands for; addresses of the host stay as they are.
  std::byte* real(uint64_t address) const;

 private:
  uint64_t locked_ = 0;        // the mapping without access
  std::byte* open_ = nullptr;  // the other one
  mutable Mutex mu_;
  std::map<uint64_t, size_t> free_ GUARDED_BY(mu_);  // by offset, no two of them adjacent
  // Blocks that were given back last are not taken again at once: what is read too soon would often be the same values
  // of an earlier run.
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

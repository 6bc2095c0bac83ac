#include "runtime/device_memory.h"

#include <algorithm>
#include <vector>

namespace sheaf::runtime {
namespace {

size_t rounded(size_t bytes, size_t grain) { return (std::max<size_t>(bytes, 1) + grain - 1) / grain * grain; }

}  // namespace

uint64_t DeviceMemory::take(size_t bytes) {
  const size_t size = rounded(bytes, kBlockBytes);
  {
    MutexLock lock(mu_);
    if (const uint64_t address = take_free(size)) return address;
  }
  const size_t segment = rounded(std::max(size, kSegmentBytes), kSegmentGrain);
  size_t got = segment;
  uint64_t address = new_segment(segment);
  // If a whole segment does not fit any more, tries one of just the needed size.
  if (!address && segment > rounded(size, kSegmentGrain)) address = new_segment(got = rounded(size, kSegmentGrain));
  if (!address) return 0;
  MutexLock lock(mu_);
  segments_[address] = got;
  if (got > size) add_free(address + size, got - size);
  add_use(size);
  return address;
}

uint64_t DeviceMemory::new_segment(size_t size) {
  {
    MutexLock lock(mu_);
    if (size > limit_ - std::min(limit_, segment_bytes_)) return 0;
    segment_bytes_ += size;
  }
  const uint64_t address = allocate_(size);
  if (address) return address;
  MutexLock lock(mu_);
  segment_bytes_ -= size;
  return 0;
}

void DeviceMemory::add_use(size_t size) {
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
}

// Best fit; among blocks of equal size, the one with the lowest address.
uint64_t DeviceMemory::take_free(size_t size) {
  auto fit = by_size_.lower_bound({size, 0});
  if (fit == by_size_.end()) return 0;
  const auto [found, address] = *fit;
  remove_free(free_.find(address));
  if (found > size) add_free(address + size, found - size);
  add_use(size);
  return address;
}

void DeviceMemory::give(uint64_t address, size_t bytes) {
  const size_t size = rounded(bytes, kBlockBytes);
  MutexLock lock(mu_);
  in_use_ -= size;
  add_free(address, size);
}

// Merges the block with the adjacent free blocks of its segment.
void DeviceMemory::add_free(uint64_t address, size_t size) {
  auto next = free_.lower_bound(address);
  if (next != free_.end() && next->first == address + size && !segments_.count(next->first)) {
    size += next->second;
    const auto joined = next++;
    remove_free(joined);
  }
  if (next != free_.begin() && !segments_.count(address)) {
    const auto before = std::prev(next);
    if (before->first + before->second == address) {
      address = before->first;
      size += before->second;
      remove_free(before);
    }
  }
  free_[address] = size;
  by_size_.emplace(size, address);
}

void DeviceMemory::remove_free(std::map<uint64_t, size_t>::iterator block) {
  by_size_.erase({block->second, block->first});
  free_.erase(block);
}

size_t DeviceMemory::in_use() const {
  MutexLock lock(mu_);
  return in_use_;
}

size_t DeviceMemory::peak() const {
  MutexLock lock(mu_);
  return peak_;
}

void DeviceMemory::set_limit(size_t bytes) {
  MutexLock lock(mu_);
  limit_ = bytes;
}

void DeviceMemory::trim(const std::function<void()>& before) {
  std::vector<uint64_t> unused;
  {
    MutexLock lock(mu_);
    for (const auto& [address, size] : segments_)
      if (auto f = free_.find(address); f != free_.end() && f->second == size) unused.push_back(address);
    for (uint64_t address : unused) {
      remove_free(free_.find(address));
      segment_bytes_ -= segments_[address];
      segments_.erase(address);
    }
  }
  if (unused.empty()) return;
  before();
  for (uint64_t address : unused)
    release_(address);
}

}  // namespace sheaf::runtime

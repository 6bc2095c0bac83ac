#include "runtime/sim_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "support/error.h"

namespace sheaf::runtime {
namespace {

constexpr size_t kCapacity = size_t{1} << 36;  // address space; untouched pages take no memory
constexpr size_t kAlign = 256;

size_t rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign; }

void* mapped(int file, int access) {
  void* at = ::mmap(nullptr, kCapacity, access, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) throw runtime_error(fmt::format("--device sim: {}", std::strerror(errno)));
  return at;
}

}  // namespace

SimMemory::SimMemory() {
  const int file = ::memfd_create("sheaf-sim", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, kCapacity) != 0)
    throw runtime_error(fmt::format("--device sim: {}", std::strerror(errno)));
  locked_ = reinterpret_cast<uint64_t>(mapped(file, PROT_NONE));
  open_ = static_cast<std::byte*>(mapped(file, PROT_READ | PROT_WRITE));
  ::close(file);
  free_[0] = kCapacity;
}

std::map<uint64_t, size_t>::iterator SimMemory::find_room(size_t bytes) {
  return std::find_if(free_.begin(), free_.end(), [&](const auto& room) { return room.second >= bytes; });
}

uint64_t SimMemory::take(size_t bytes) {
  const size_t size = rounded(bytes);
  MutexLock lock(mu_);
  auto room = find_room(size);
  while (room == free_.end() && !resting_.empty()) {
    wake_oldest();
    room = find_room(size);
  }
  if (++taken_ == failing_ || room == free_.end() || size > limit_ - std::min(limit_, in_use_)) return 0;
  const auto [offset, found] = *room;
  free_.erase(room);
  if (found > size) free_[offset + size] = found - size;
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  return locked_ + offset;
}

void SimMemory::give(uint64_t address, size_t bytes) {
  constexpr size_t kMaxBlocks = 64, kMaxBytes = 16 << 20;
  const size_t size = rounded(bytes);
  MutexLock lock(mu_);
  in_use_ -= size;
  resting_.push_back({address - locked_, size});
  resting_bytes_ += size;
  while (resting_.size() > kMaxBlocks || resting_bytes_ > kMaxBytes)
    wake_oldest();
}

// Ends the quarantine of the oldest block and merges it with the adjacent free blocks.
void SimMemory::wake_oldest() {
  auto [offset, size] = resting_.front();
  resting_.pop_front();
  resting_bytes_ -= size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

size_t SimMemory::in_use() const {
  MutexLock lock(mu_);
  return in_use_;
}

size_t SimMemory::peak() const {
  MutexLock lock(mu_);
  return peak_;
}

void SimMemory::set_limit(size_t bytes) {
  MutexLock lock(mu_);
  limit_ = bytes;
}

void SimMemory::fail_allocation(int64_t number) {
  MutexLock lock(mu_);
  failing_ = number > 0 ? taken_ + number : 0;
}

std::byte* SimMemory::real(uint64_t address) const {
  const uint64_t offset = address - locked_;
  return offset < kCapacity ? open_ + offset : reinterpret_cast<std::byte*>(address);
}

}  // namespace sheaf::runtime

#include "runtime/pinned.h"

#include <cstring>

#include "runtime/cuda_driver.h"
#include "runtime/thread_pool.h"

namespace sheaf::runtime {
namespace {

constexpr size_t kAlign = 64;

std::byte* pinned(size_t bytes) {
  void* memory = nullptr;
  const CudaDriver& driver = CudaDriver::find();
  driver.check(driver.allocate_pinned(&memory, bytes), "cuMemAllocHost");
  return static_cast<std::byte*>(memory);
}

void* new_event() {
  void* event = nullptr;
  const CudaDriver& driver = CudaDriver::find();
  driver.check(driver.create_event(&event, CudaDriver::kNoTiming), "cuEventCreate");
  return event;
}

}  // namespace

std::byte* PinnedRing::take(size_t bytes, void* stream) {
  const CudaDriver& driver = CudaDriver::find();
  if (used_ + bytes > piece_bytes_) {
    Piece& full = pieces_[current_];
    driver.check(driver.record_event(full.event, stream), "cuEventRecord");
    full.recorded = true;
    current_ = (current_ + 1) % pieces_.size();
    used_ = 0;
    if (pieces_[current_].recorded)
      driver.check(driver.synchronize_event(pieces_[current_].event), "cuEventSynchronize");
  }
  Piece& piece = pieces_[current_];
  if (!piece.data) piece = {pinned(piece_bytes_), new_event(), false};
  std::byte* const out = piece.data + used_;
  used_ += (bytes + kAlign - 1) / kAlign * kAlign;
  return out;
}

Landing new_landing(size_t bytes) { return {pinned(bytes), new_event()}; }

void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr int64_t kGrain = 1 << 20;  // least bytes for a thread
  if (static_cast<int64_t>(bytes) <= kGrain) {
    std::memcpy(to, from, bytes);
    return;
  }
  parallel_for(
      static_cast<int64_t>(bytes),
      [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin)); },
      kGrain);
}

}  // namespace sheaf::runtime

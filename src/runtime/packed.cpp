#include "runtime/packed.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/thread_pool.h"
#include "support/error.h"
#include "support/mutex.h"

namespace sheaf::runtime {
namespace {

// Pack at the n-th read: packing takes about as long as a few reads.
constexpr int kReads = 3;
constexpr size_t kBudgetPart = 16;  // of the memory limit

std::atomic<int64_t> packed_bytes{0};

int64_t budget() { return static_cast<int64_t>(memory_stats().limit_bytes / kBudgetPart); }

bool reserve(int64_t bytes) {
  MemoryStats memory = memory_stats();
  if (memory.live_bytes + static_cast<size_t>(bytes) > memory.limit_bytes / 2) return false;
  if (packed_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= budget()) return true;
  packed_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

// Copies in chunks and releases the file's pages after each: embedding tables are the largest of all weights.
void copy_file(const Buffer& source, const std::byte* from, int64_t bytes, std::byte* to) {
  constexpr int64_t kPiece = 8 << 20, kTask = 1 << 20;
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const int64_t here = std::min(kPiece, bytes - at);
    parallel_for(
        here,
        [&](int64_t begin, int64_t end) {
          std::memcpy(to + at + begin, from + at + begin, static_cast<size_t>(end - begin));
        },
        kTask);
    source.release_pages(from + at, static_cast<size_t>(here));
  }
}

// The packed copies of parts of one buffer.
class Copies : public Buffer::Derived {
 public:
  ~Copies() override {
    for (const auto& [key, c] : copies_)
      if (c.data) packed_bytes.fetch_sub(static_cast<int64_t>(c.data->size_bytes()), std::memory_order_relaxed);
  }

  std::byte* find(const Buffer& source, const std::byte* from, const PackedForm& form) {
    MutexLock lock(mutex_);
    const Key key{from, form.facts.layout};
    if (!form.facts.packs) {
      auto it = copies_.find(key);
      return it != copies_.end() && it->second.data ? it->second.data->host_mut() : nullptr;
    }
    Copy& c = copies_[key];
    if (c.reads < kReads && ++c.reads == kReads && reserve(form.facts.bytes)) {
      c.data = packed(source, from, form);
    }
    return c.data ? c.data->host_mut() : nullptr;
  }

 private:
  using Key = std::pair<const std::byte*, PackedForm::Layout>;
  struct Copy {
    int reads = 0;
    Ref<Buffer> data;
  };
  // Packs the operand; nullptr if there is no memory, so that the operand is read unpacked.
  static Ref<Buffer> packed(const Buffer& source, const std::byte* from, const PackedForm& form) {
    Ref<Buffer> data;
    try {
      data = Buffer::allocate(static_cast<size_t>(form.facts.bytes));
    } catch (const UserError&) {
      packed_bytes.fetch_sub(form.facts.bytes, std::memory_order_relaxed);
      return nullptr;
    }
    if (form.facts.is_copy) {
      copy_file(source, from, form.facts.bytes, data->host_mut());
    } else {
      form.pack(from, data->host_mut());
      source.release_pages(from, static_cast<size_t>(form.facts.source_bytes));
    }
    return data;
  }

  Mutex mutex_;
  std::map<Key, Copy> copies_ GUARDED_BY(mutex_);  // a file holds many weights
};

}  // namespace

std::byte* packed_operand(const Launch& launch, const Plan& plan, const Memory& memory) {
  const Place& place = launch.buffers[launch.packed->facts.operand];
  const Buffer* buffer = unchanged_buffer(place, plan, memory);
  if (!buffer || buffer->origin() == Buffer::Origin::Foreign) return nullptr;
  if (launch.packed->facts.is_copy && buffer->origin() != Buffer::Origin::File) return nullptr;
  Buffer::Derived* derived = buffer->derived(Buffer::Made::Packed);
  if (!derived) derived = buffer->keep_derived(Buffer::Made::Packed, std::make_unique<Copies>());
  return static_cast<Copies*>(derived)->find(*buffer, address(place, plan, memory),
                                             *launch.packed);  // this file alone stores Made::Packed
}

PackedStats packed_stats() { return {packed_bytes.load(std::memory_order_relaxed), budget()}; }

}  // namespace sheaf::runtime

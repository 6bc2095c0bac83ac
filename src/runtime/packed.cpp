#include "runtime/packed.h"

#include <atomic>
#include <vector>

#include "support/error.h"
#include "support/mutex.h"

namespace sheaf::runtime {
namespace {

// Packing takes about as long as a few reads.
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

// The copies of parts of one buffer.
class Copies : public Buffer::Derived {
 public:
  ~Copies() override {
    for (const Copy& c : copies_)
      if (c.data) packed_bytes.fetch_sub(static_cast<int64_t>(c.data->size_bytes()), std::memory_order_relaxed);
  }

  std::byte* find(const std::byte* from, const PackedForm& form) {
    MutexLock lock(mutex_);
    Copy& c = entry(from, form.layout);
    if (c.reads < kReads && ++c.reads == kReads && reserve(form.bytes)) c.data = packed(from, form);
    return c.data ? c.data->data() : nullptr;
  }

 private:
  struct Copy {
    const std::byte* from;
    PackedForm::Layout layout;
    int reads = 0;
    Ref<Buffer> data;
  };
  // Without memory for it the operand is read as it is.
  static Ref<Buffer> packed(const std::byte* from, const PackedForm& form) {
    Ref<Buffer> data;
    try {
      data = Buffer::allocate(static_cast<size_t>(form.bytes));
    } catch (const UserError&) {
      packed_bytes.fetch_sub(form.bytes, std::memory_order_relaxed);
      return nullptr;
    }
    form.pack(from, data->data());
    return data;
  }
  Copy& entry(const std::byte* from, const PackedForm::Layout& layout) REQUIRES(mutex_) {
    for (Copy& c : copies_)
      if (c.from == from && c.layout == layout) return c;
    return copies_.emplace_back(Copy{from, layout, 0, nullptr});
  }

  Mutex mutex_;
  std::vector<Copy> copies_ GUARDED_BY(mutex_);
};

}  // namespace

std::byte* packed_operand(const Launch& launch, const Plan& plan, const Memory& memory) {
  const Place& place = launch.buffers[launch.packed->operand];
  const Buffer* buffer = unchanged_buffer(place, plan, memory);
  if (!buffer || !buffer->is_ours()) return nullptr;  // others may write to memory of theirs at any time
  Buffer::Derived* derived = buffer->derived();
  if (!derived) derived = buffer->keep_derived(std::make_unique<Copies>());
  return static_cast<Copies*>(derived)->find(address(place, plan, memory),
                                             *launch.packed);  // nothing else derives anything
}

PackedStats packed_stats() { return {packed_bytes.load(std::memory_order_relaxed), budget()}; }

}  // namespace sheaf::runtime

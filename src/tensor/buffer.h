// Reference-counted raw memory, on the host or on a device. Contents are immutable once they are visible to others, so
// a buffer may have copies in other spaces: each copy is made on first use and cached until will_change().
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "support/ref.h"
#include "tensor/space.h"

namespace sheaf {

class Buffer : public Counted {
 public:
  // Ours: allocated here. File: mapped read-only; the system may evict its pages and reads them again on access.
  // Foreign: owned by somebody else, who may write to it at any time.
  enum class Origin : uint8_t { Ours, File, Foreign };
  // Wraps host memory. The destructor calls `release_memory`, which frees memory that others allocated.
  Buffer(std::byte* data, size_t bytes, std::function<void()> release_memory, Origin origin = Origin::Foreign)
      : data_(data), bytes_(bytes), origin_(origin), release_(std::move(release_memory)) {}
  ~Buffer() {
    will_change();
    if (release_) release_();
  }
  // Host memory, uninitialised, 64-byte aligned. Throws UserError if the memory budget or the machine has no room.
  static Ref<Buffer> allocate(size_t bytes);
  // Uninitialised memory of any space.
  static Ref<Buffer> allocate(Space& space, size_t bytes);
  // A new buffer that shares the memory of `other`; `on_release` is called when the new buffer is destroyed.
  static Ref<Buffer> alias(const Ref<Buffer>& other, std::function<void()> on_release);

  size_t size_bytes() const { return bytes_; }
  // Memory that is not ours may be read-only.
  bool is_ours() const { return origin_ == Origin::Ours; }
  Origin origin() const { return origin_; }

  // The space that owns the memory.
  Space& home() const { return device_ ? *device_ : host_space(); }
  bool is_on_host() const { return !device_; }
  // The address of the memory in home().
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  // The content for reading on the host; for a device buffer this is a host copy.
  const std::byte* host() const { return is_on_host() ? data_ : in_host(); }
  // Host buffers only. For whoever fills a new buffer, or for an owner that holds the only reference.
  std::byte* host_mut() const {
    if (!is_on_host()) refuse_writing();
    return data_;
  }
  // The address of the content in `space`, for reading; copies it there if needed.
  uint64_t in(Space& space) const;

  // Drops the whole pages inside this range of a mapped file; the system may keep them in its page cache.
  void release_pages(const std::byte* from, size_t bytes) const;

  // Data derived from the content and cached while the content stays the same: matrices packed in another order, the
  // elements rounded to a narrow float. Whoever writes to a buffer that others have read must call will_change(), which
  // drops it.
  struct Derived {
    virtual ~Derived() = default;
  };
  enum class Made : uint8_t { Packed, Rounded };
  Derived* derived(Made made) const { return slot(made).load(std::memory_order_acquire); }
  // If several threads store one, the first wins; returns the one that is kept.
  Derived* keep_derived(Made made, std::unique_ptr<Derived> d) const {
    Derived* kept = nullptr;
    return slot(made).compare_exchange_strong(kept, d.get(), std::memory_order_acq_rel) ? d.release() : kept;
  }
  // For an owner that holds the only reference.
  std::unique_ptr<Derived> take_derived(Made made) const {
    return std::unique_ptr<Derived>(slot(made).exchange(nullptr, std::memory_order_acq_rel));
  }
  void will_change() {
    for (Made made : {Made::Packed, Made::Rounded})
      if (derived(made)) take_derived(made);
    if (copies_.load(std::memory_order_relaxed)) drop_copies();
  }

 private:
  struct Copy;
  Buffer(Space* device, uint64_t address, size_t bytes, std::function<void()> release, Origin origin);
  const std::byte* in_host() const;
  const Copy* find_copy(const Space& space) const;
  const Copy& make_copy(Space& space) const;
  void drop_copies();
  [[noreturn]] void refuse_writing() const;
  std::atomic<Derived*>& slot(Made made) const { return derived_[static_cast<size_t>(made)]; }

  std::byte* data_;  // a device address if the buffer is on a device
  size_t bytes_;
  Space* device_ = nullptr;  // none: the host
  Origin origin_;
  mutable std::atomic<Derived*> derived_[2] = {};  // by Made
  mutable std::atomic<Copy*> copies_{nullptr};     // a list, one for each space
  std::function<void()> release_;
};

// Bytes in live host buffers with Origin::Ours, their high-water mark, and the limit above which an allocation fails
// with a UserError.
struct MemoryStats {
  size_t live_bytes, peak_bytes, limit_bytes;
};
MemoryStats memory_stats();
void set_memory_limit(size_t bytes);

}  // namespace sheaf

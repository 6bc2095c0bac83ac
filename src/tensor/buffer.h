// Counted raw memory, of the host or of a device. Contents are immutable once they are visible to others, so a buffer
// may have copies in other spaces: each is made when it is first needed, and kept until will_change().
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
  // Ours; a file, mapped read-only, whose pages the system may take away and reads again when they are touched; or
  // somebody else's, who may write to it at any time.
  enum class Origin : uint8_t { Ours, File, Foreign };
  // Memory of the host. `release_memory` ends the life of memory that others have made.
  Buffer(std::byte* data, size_t bytes, std::function<void()> release_memory, Origin origin = Origin::Foreign)
      : data_(data), bytes_(bytes), origin_(origin), release_(std::move(release_memory)) {}
  ~Buffer() {
    will_change();
    if (release_) release_();
  }
  // Of the host: uninitialised, 64-byte aligned. Throws UserError when the memory budget or the machine refuses.
  static Ref<Buffer> allocate(size_t bytes);
  // Uninitialised memory of any space.
  static Ref<Buffer> allocate(Space& space, size_t bytes);
  // The memory of `other` as a buffer of its own, which tells when it goes.
  static Ref<Buffer> alias(const Ref<Buffer>& other, std::function<void()> on_release);

  size_t size_bytes() const { return bytes_; }
  // Else it may be read-only.
  bool is_ours() const { return origin_ == Origin::Ours; }
  Origin origin() const { return origin_; }

  // Where the memory is.
  Space& home() const { return device_ ? *device_ : host_space(); }
  bool is_on_host() const { return !device_; }
  // In its home.
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  // The content for reading on the host; of a device's buffer a copy.
  const std::byte* host() const { return is_on_host() ? data_ : in_host(); }
  // For the maker of a buffer of the host, and for an owner that holds the only reference.
  std::byte* host_mut() const {
    if (!is_on_host()) refuse_writing();
    return data_;
  }
  // The address of the content in a space, for reading.
  uint64_t in(Space& space) const;

  // Gives the whole pages of a part of a file back to the system, which keeps them in its cache as long as it likes.
  void release_pages(const std::byte* from, size_t bytes) const;

  // Something made of the content that lives as long as the content stays the same: copies of matrices in another
  // order, the elements rounded to a narrow float. Whoever writes to a buffer that others have read calls
  // will_change().
  struct Derived {
    virtual ~Derived() = default;
  };
  enum class Made : uint8_t { Packed, Rounded };
  Derived* derived(Made made) const { return slot(made).load(std::memory_order_acquire); }
  // The first one that any thread gives is kept.
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

  std::byte* data_;  // an address of the device's, where there is one
  size_t bytes_;
  Space* device_ = nullptr;  // none: the host
  Origin origin_;
  mutable std::atomic<Derived*> derived_[2] = {};  // by Made
  mutable std::atomic<Copy*> copies_{nullptr};     // a list, one for each space
  std::function<void()> release_;
};

// Bytes in live buffers of the host that are ours, their high-water mark, and the limit above which allocation fails as
// a user error.
struct MemoryStats {
  size_t live_bytes, peak_bytes, limit_bytes;
};
MemoryStats memory_stats();
void set_memory_limit(size_t bytes);

}  // namespace sheaf

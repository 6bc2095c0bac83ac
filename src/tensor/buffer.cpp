#include "tensor/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "support/error.h"
#include "support/internal_error.h"
#include "support/mutex.h"
#include "tensor/buffer_pool.h"
#include "tensor/device_copies.h"
#include "tensor/tensor.h"

namespace sheaf {

namespace {

class Host final : public Space {
 public:
  std::string_view name() const override { return "cpu"; }
  uint64_t take(size_t bytes) override { return reinterpret_cast<uint64_t>(BufferPool::get().take(bytes)); }
  void give(uint64_t address, size_t bytes) override {
    BufferPool::get().give(reinterpret_cast<std::byte*>(address), bytes);
  }
  void fetch(uint64_t from, std::byte* to, size_t bytes) override {
    if (bytes) std::memcpy(to, reinterpret_cast<const std::byte*>(from), bytes);
  }
  void send(const std::byte* from, uint64_t to, size_t bytes) override {
    if (bytes) std::memcpy(reinterpret_cast<std::byte*>(to), from, bytes);
  }
  void copy(const Tensor& from, const Tensor& to) override { copy_on_host(from, to); }
};

// One lock for the copies of all buffers, so that each copy is made once.
Mutex& copying() {
  static auto* mu = new Mutex;
  return *mu;
}

// What frees the copies of each host buffer that has some in a space, and returns their number.
struct WithCopies {
  Mutex mu;
  std::map<const Buffer*, std::function<size_t(Space&)>> buffers GUARDED_BY(mu);
};
WithCopies& with_copies() {
  static auto* all = new WithCopies;
  return *all;
}

}  // namespace

size_t drop_device_copies(Space& space) {
  WithCopies& all = with_copies();
  MutexLock lock(all.mu);
  size_t dropped = 0;
  for (auto& [buffer, drop] : all.buffers)
    dropped += drop(space);
  return dropped;
}

Space& host_space() {
  static auto* host = new Host;
  return *host;
}

struct Buffer::Copy {
  Ref<Buffer> buffer;
  Copy* next;
};

Buffer::Buffer(Space* device, uint64_t address, size_t bytes, std::function<void()> release, Origin origin)
    : data_(reinterpret_cast<std::byte*>(address)),
      bytes_(bytes),
      device_(device),
      origin_(origin),
      release_(std::move(release)) {}

Ref<Buffer> Buffer::allocate(size_t bytes) {
  std::byte* p = BufferPool::get().take(bytes);
  return make_ref<Buffer>(p, bytes, [p, bytes] { BufferPool::get().give(p, bytes); }, Origin::Ours);
}

Ref<Buffer> Buffer::allocate(Space& space, size_t bytes) {
  if (&space == &host_space()) return allocate(bytes);
  const uint64_t address = space.take(bytes);
  return Ref<Buffer>(
      new Buffer(&space, address, bytes, [&space, address, bytes] { space.give(address, bytes); }, Origin::Ours));
}

Ref<Buffer> Buffer::alias(const Ref<Buffer>& other, std::function<void()> on_release) {
  return Ref<Buffer>(new Buffer(
      other->device_, other->address(), other->bytes_, [other, f = std::move(on_release)] { f(); }, Origin::Foreign));
}

uint64_t Buffer::in(Space& space) const {
  if (&space == &home()) return address();
  const Copy* known = find_copy(space);
  // The owner of foreign memory may have written to it since it was copied.
  if (known && origin_ == Origin::Foreign && is_on_host()) space.send(data_, known->buffer->address(), bytes_);
  return (known ? *known : make_copy(space)).buffer->address();
}

const std::byte* Buffer::in_host() const {
  const Copy* known = find_copy(host_space());
  return (known ? *known : make_copy(host_space())).buffer->data_;
}

const Buffer::Copy* Buffer::find_copy(const Space& space) const {
  const Copy* c = copies_.load(std::memory_order_acquire);
  while (c && &c->buffer->home() != &space)
    c = c->next;
  return c;
}

const Buffer::Copy& Buffer::make_copy(Space& space) const {
  MutexLock lock(copying());
  // Another thread may have made the copy meanwhile.
  if (const Copy* known = find_copy(space)) return *known;
  INVARIANT(is_on_host() || &space == &host_space(), "a buffer of " << home().name() << " in " << space.name());
  Ref<Buffer> made = allocate(space, bytes_);
  if (is_on_host()) {
    space.send(data_, made->address(), bytes_);
    release_pages(data_, bytes_);  // a later read on the host finds the file in the page cache
  } else {
    device_->fetch(address(), made->data_, bytes_);
  }
  copies_.store(new Copy{std::move(made), copies_.load(std::memory_order_relaxed)}, std::memory_order_release);
  if (is_on_host()) {
    WithCopies& all = with_copies();
    MutexLock list(all.mu);
    all.buffers[this] = [this](Space& there) {
      size_t dropped = 0;
      Copy* kept = nullptr;
      for (Copy *c = copies_.exchange(nullptr, std::memory_order_acq_rel), *next = nullptr; c; c = next) {
        next = c->next;
        if (&c->buffer->home() == &there) {
          delete c;
          ++dropped;
        } else {
          c->next = kept;
          kept = c;
        }
      }
      copies_.store(kept, std::memory_order_release);
      return dropped;
    };
  }
  return *copies_.load(std::memory_order_relaxed);
}

void Buffer::drop_copies() {
  if (is_on_host()) {
    WithCopies& all = with_copies();
    MutexLock list(all.mu);
    all.buffers.erase(this);
  }
  const Copy* c = copies_.exchange(nullptr, std::memory_order_acq_rel);
  while (c) {
    const Copy* next = c->next;
    delete c;
    c = next;
  }
}

void Buffer::refuse_writing() const {
  throw InternalError("the host writes to memory of " + std::string(home().name()));
}

void Buffer::release_pages(const std::byte* from, size_t bytes) const {
  if (origin_ != Origin::File) return;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto begin = (reinterpret_cast<uintptr_t>(from) + page - 1) / page * page,
       end = reinterpret_cast<uintptr_t>(from + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MemoryStats memory_stats() { return BufferPool::get().stats(); }
void set_memory_limit(size_t bytes) { BufferPool::get().set_limit(bytes); }

}  // namespace sheaf

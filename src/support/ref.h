// Intrusive reference counting. Counts are plain until the first worker thread that shares values starts
// (`enable_atomic_counts`), then atomic: single-threaded programs pay no locked instruction.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace sheaf {

namespace detail {
inline std::atomic<bool> atomic_counts = false;
}
// Call before a second thread may touch counted objects; it cannot be undone.
inline void enable_atomic_counts() { detail::atomic_counts.store(true, std::memory_order_relaxed); }
// Relaxed order suffices: a started thread sees the stores of its starter, and no object crosses between other threads.
inline bool counts_are_atomic() { return detail::atomic_counts.load(std::memory_order_relaxed); }

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) : count_(0) {}
  Counted& operator=(const Counted&) { return *this; }
  void retain() const {
    if (counts_are_atomic())
      std::atomic_ref<uint32_t>(count_).fetch_add(1, std::memory_order_relaxed);
    else
      ++count_;
  }
  // Returns true if this was the last reference.
  bool release() const {
    if (counts_are_atomic()) return std::atomic_ref<uint32_t>(count_).fetch_sub(1, std::memory_order_acq_rel) == 1;
    return --count_ == 0;
  }
  bool unique() const {
    return (counts_are_atomic() ? std::atomic_ref<uint32_t>(count_).load(std::memory_order_acquire) : count_) == 1;
  }

 protected:
  ~Counted() = default;

 private:
  mutable uint32_t count_ = 0;
};

// A counted pointer to a T that derives from Counted. Deletes through `delete (T*)`, so a polymorphic T needs a
// virtual destructor.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(const Ref<U>& o) : p_(o.get()) {
    if (p_) p_->retain();
  }
  template <class U>
    requires std::is_convertible_v<U*, T*>
  Ref(Ref<U>&& o) noexcept : p_(o.detach()) {}
  ~Ref() {
    if (p_ && p_->release()) delete p_;
  }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }
  // Gives up ownership without touching the count.
  T* detach() { return std::exchange(p_, nullptr); }
  // Takes over a pointer whose count already includes this reference.
  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }

 private:
  T* p_ = nullptr;
};

template <class T, class... A>
Ref<T> make_ref(A&&... a) {
  return Ref<T>(new T(std::forward<A>(a)...));
}

}  // namespace sheaf

// A vector of trivially copyable elements that stores up to N of them inline: shapes, strides, axes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace sheaf {

template <class T, size_t N = 6>
class SmallVec {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  SmallVec() = default;
  explicit SmallVec(size_t n, T v = T{}) { resize(n, v); }
  SmallVec(std::initializer_list<T> l) { assign(l.begin(), l.end()); }
  template <std::input_iterator It>
  SmallVec(It b, It e) {
    assign(b, e);
  }
  SmallVec(const SmallVec& o) { copy(o); }
  SmallVec(SmallVec&& o) noexcept { steal(o); }
  ~SmallVec() {
    if (!is_inline()) delete[] data_;
  }
  SmallVec& operator=(const SmallVec& o) {
    if (this != &o) copy(o);
    return *this;
  }
  SmallVec& operator=(SmallVec&& o) noexcept {
    if (this != &o) {
      if (!is_inline()) delete[] data_;
      data_ = room();
      steal(o);
    }
    return *this;
  }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  void push_back(T v) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = v;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(size_t n, T v = T{}) {
    if (n > capacity_) grow(n);
    for (size_t i = size_; i < n; ++i)
      data_[i] = v;
    size_ = n;
  }
  void insert(T* at, T v) {
    size_t i = at - data_;
    push_back(v);
    std::rotate(data_ + i, data_ + size_ - 1, data_ + size_);
  }
  void erase(T* at) {
    std::copy(at + 1, end(), at);
    --size_;
  }
  template <class It>
  void assign(It b, It e) {
    size_ = 0;
    for (; b != e; ++b)
      push_back(static_cast<T>(*b));
  }
  operator std::span<const T>() const { return {data_, size_}; }
  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  // Elements start their lifetime on first use: creating or copying a shape costs no more than its elements.
  T* room() { return reinterpret_cast<T*>(inline_); }
  bool is_inline() const { return static_cast<const void*>(data_) == inline_; }
  void grow(size_t n) {
    size_t cap = std::max(n, 2 * static_cast<size_t>(capacity_));
    T* p = new T[cap];
    std::copy(begin(), end(), p);
    if (!is_inline()) delete[] data_;
    data_ = p;
    capacity_ = static_cast<uint32_t>(cap);
  }
  void copy(const SmallVec& o) {
    if (o.size_ > capacity_) grow(o.size_);
    for (size_t i = 0; i < o.size_; ++i)
      data_[i] = o.data_[i];
    size_ = o.size_;
  }
  void steal(SmallVec& o) {
    if (o.is_inline()) {
      capacity_ = N;
      for (size_t i = 0; i < o.size_; ++i)
        data_[i] = o.data_[i];
    } else {
      data_ = o.data_;
      capacity_ = o.capacity_;
      o.data_ = o.room();
      o.capacity_ = N;
    }
    size_ = std::exchange(o.size_, 0);
  }

  T* data_ = room();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace sheaf

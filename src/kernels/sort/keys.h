// Sort keys: unsigned numbers in the order of the elements, each with its original position.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

// An unsigned key with the order of x: both zeros have one key; NaN comes last, also if descending.
template <class T>
using KeyOf = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <class T>
KeyOf<T> key_of(T x, bool descending) {
  using Bits = KeyOf<T>;
  if constexpr (scalar::kIsNarrowFloat<T>) {
    return key_of(scalar::convert<float>(x), descending);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~Bits{0};
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    Bits bits = std::bit_cast<Bits>(x == 0 ? T(0) : x);
    bits ^= bits & kSign ? ~Bits{0} : kSign;
    return descending ? static_cast<Bits>(~bits) : bits;
  } else {
    Bits bits = static_cast<Bits>(x);
    if constexpr (std::is_signed_v<T>) bits ^= Bits{1} << (8 * sizeof(Bits) - 1);
    return descending ? static_cast<Bits>(~bits) : bits;
  }
}

// A key and its original position; equal keys are ordered by position, so that sorting is stable.
template <class Bits>
struct Item;
template <>
struct Item<uint32_t> {
  uint64_t both;
  Item() = default;
  Item(uint32_t key, uint32_t position) : both(uint64_t{key} << 32 | position) {}
  uint32_t key() const { return static_cast<uint32_t>(both >> 32); }
  uint32_t position() const { return static_cast<uint32_t>(both); }
  friend bool operator<(Item a, Item b) { return a.both < b.both; }
};
template <>
struct Item<uint64_t> {
  uint64_t key_;
  uint32_t position_;
  Item() = default;
  Item(uint64_t key, uint32_t position) : key_(key), position_(position) {}
  uint64_t key() const { return key_; }
  uint32_t position() const { return position_; }
  friend bool operator<(Item a, Item b) { return a.key_ != b.key_ ? a.key_ < b.key_ : a.position_ < b.position_; }
};

// The element with this key; +0 for the key of zero.
template <class T>
T value_of(KeyOf<T> key, bool descending) {
  using Bits = KeyOf<T>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (descending) key = static_cast<Bits>(~key);
  if constexpr (scalar::kIsNarrowFloat<T>) {
    return scalar::convert<T>(value_of<float>(key, false));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(static_cast<Bits>(key ^ (key & kSign ? kSign : ~Bits{0})));
  } else {
    if constexpr (std::is_signed_v<T>) key ^= kSign;
    return static_cast<T>(key);
  }
}

}  // namespace sheaf::kernels

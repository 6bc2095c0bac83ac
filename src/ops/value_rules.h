// Rules shared by several entries for the values of their output: numbers that are sizes, and ranges of ints.
#pragma once
#include <algorithm>
#include <type_traits>

#include "graph/op_def.h"

namespace sheaf::ops {

using graph::IntRange;
using graph::SizesCtx;

// Computes sizes element by element; kRule takes one or two of them and returns a Size, or nothing.
template <auto kRule>
std::optional<Sizes> sizes_each(const SizesCtx& c) {
  Sizes out;
  for (size_t i = 0; i < c.count; ++i) {
    std::optional<Size> s;
    if constexpr (std::is_invocable_v<decltype(kRule), Size>)
      s = kRule(c.inputs[0].at(i));
    else
      s = kRule(c.inputs[0].at(i), c.inputs[1].at(i));
    if (!s) return std::nullopt;
    out.push_back(*s);
  }
  return out;
}
// The identity on whole numbers.
inline Size same_size(Size a) { return a; }
inline constexpr graph::SizesFn kSameSizes = sizes_each<same_size>;

// The range from lo to hi, or all of i64 if it exceeds i64.
inline IntRange range_of(__int128 lo, __int128 hi) {
  if (lo < INT64_MIN || hi > INT64_MAX) return {};
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}
// The range of a result whose magnitude no input exceeds.
inline IntRange range_within(IntRange x) {
  __int128 largest = std::max(-static_cast<__int128>(x.lo), static_cast<__int128>(x.hi));
  return range_of(-largest, largest);
}
inline IntRange range_union(IntRange a, IntRange b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

}  // namespace sheaf::ops

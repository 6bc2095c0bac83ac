// An interval map: a value of type T for each byte of a buffer. Every byte starts with T{}. Not thread-safe.
#pragma once
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace sheaf::runtime {

template <class T>
class ByteMap {
 public:
  // Calls f(T&) for the intervals that make up [begin, end), in order. Changes by f affect those bytes only.
  template <class F>
  void visit(int64_t begin, int64_t end, F f) {
    if (begin >= end) return;
    split(end);
    for (auto it = split(begin); it != pieces_.end() && it->first < end; ++it)
      f(it->second);
  }
  void assign(int64_t begin, int64_t end, T x) {
    if (begin >= end) return;
    auto rest = split(end);
    auto first = split(begin);
    first->second = std::move(x);
    pieces_.erase(std::next(first), rest);
  }

 private:
  using Pieces = std::map<int64_t, T>;  // by first byte
  // Returns the interval that begins at a byte; splits an interval if necessary.
  typename Pieces::iterator split(int64_t at) {
    auto it = std::prev(pieces_.upper_bound(at));
    return it->first == at ? it : pieces_.emplace(at, it->second).first;
  }
  Pieces pieces_{{std::numeric_limits<int64_t>::min(), T{}}};
};

}  // namespace sheaf::runtime

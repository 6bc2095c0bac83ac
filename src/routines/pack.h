// Converts the arguments of a routine between a typed struct and the list of numbers in a `call` statement of the IR.
//
// The struct is a template over Int: int64_t where the routine runs, a value of a kernel where an op emits the call.
// Its `kRoutine` is the name of the routine. Its `fields(self, f)` calls f with each member in the order of the list; a
// member is an Int, an array of Ints, or an enum or bool that is known when the kernel is built. Only `fields` knows
// the order.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/error.h"

namespace sheaf::routines {

namespace detail {
template <class T, class F>
void each_number(T& field, F&& f) {
  f(field);
}
template <class T, size_t n, class F>
void each_number(std::array<T, n>& field, F&& f) {
  for (T& x : field)
    f(x);
}
template <class T, size_t n, class F>
void each_number(const std::array<T, n>& field, F&& f) {
  for (const T& x : field)
    f(x);
}
}  // namespace detail

// Packs the members into the list; to_number converts each.
template <class Args, class F>
auto pack_as(const Args& args, F&& to_number) {
  std::vector<decltype(to_number(true))> out;
  Args::fields(args, [&](const auto& field) {
    detail::each_number(field, [&](const auto& x) { out.push_back(to_number(x)); });
  });
  return out;
}

template <class Args>
std::vector<int64_t> pack(const Args& args) {
  return pack_as(args, [](auto x) { return static_cast<int64_t>(x); });
}

template <class Args>
Args unpack(std::span<const int64_t> list) {
  Args out{};
  size_t at = 0;
  Args::fields(out, [&](auto& field) {
    detail::each_number(field, [&]<class T>(T& x) {
      x = static_cast<T>(at < list.size() ? list[at] : 0);
      ++at;
    });
  });
  INVARIANT(at == list.size(), Args::kRoutine << " with " << list.size() << " arguments instead of " << at);
  return out;
}

}  // namespace sheaf::routines

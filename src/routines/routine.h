// A routine is work that a kernel `call`s because scalar loops express it badly: GEMM, attention, sorting, matrix
// factorization. The functions of this folder define what each computes, to the bit, one plain loop at a time;
// `kernels/` has algorithms that give the same bits fast. Any thread may call any routine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sheaf::routines {

// What a `call` statement passes: the addresses of its buffers, and sizes, strides and options as numbers. The args.h
// of a family says what they mean.
struct CallArgs {
  std::span<std::byte* const> buffers;
  std::span<const int64_t> args;
  template <class T>
  T* buffer(int i) const {
    return reinterpret_cast<T*>(buffers[i]);
  }
};
using Routine = void (*)(const CallArgs&);

// The definition of the routine, or nullptr when there is none of that name.
Routine find_routine(std::string_view name);

}  // namespace sheaf::routines

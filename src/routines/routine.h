// A routine is work that a kernel `call`s because scalar loops express it badly: GEMM, attention, sorting, matrix
// factorization. The functions of this folder define what each computes, to the bit, one plain loop at a time;
// `kernels/` has algorithms that give the same bits fast. Any thread may call any routine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "routines/pack.h"

namespace sheaf::routines {

// The facts of a target that decide bits; of all that processors differ in, only these.
struct Arithmetic {
  bool bf16_dot = false;    // sums of bf16 products are formed as dot-product instructions do (scalar/bf16_dot.h)
  bool bf16_tiles = false;  // products of several rows by several columns, as a matrix unit does
};

// What a call runs on.
struct RoutineCall {
  std::span<std::byte* const> buffers;
  Arithmetic arithmetic;
  template <class T>
  T* buffer(int i) const {
    return reinterpret_cast<T*>(buffers[i]);
  }
};

// A routine as a `call` statement runs it: with its arguments as the list of numbers that pack.h makes of them.
using Routine = void (*)(const RoutineCall& call, std::span<const int64_t> args);

// An entry of a table of routines: `function` by the name of its arguments, which the routine unpacks for it.
struct RoutineEntry {
  std::string_view name;
  Routine routine;
};
template <class Args, void (*function)(const RoutineCall&, const Args&)>
constexpr RoutineEntry entry() {
  return {Args::kRoutine,
          [](const RoutineCall& call, std::span<const int64_t> args) { function(call, unpack<Args>(args)); }};
}

// The definition of the routine, or nullptr when there is none of that name.
Routine find_routine(std::string_view name);

}  // namespace sheaf::routines

// A routine is a computation that a kernel `call`s because scalar loops express it badly: GEMM, attention, sorting,
// matrix factorization. The functions of this folder define each one to the bit with plain loops; `kernels/` has fast
// algorithms with the same bits. Any thread may call any routine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "routines/pack.h"

namespace sheaf::routines {

// The only facts of a target that result bits depend on.
struct Arithmetic {
  bool bf16_dot = false;    // sums of bf16 products have the bits of dot-product instructions (scalar/bf16_dot.h)
  bool bf16_tiles = false;  // with several rows and several columns, the bits of a matrix unit
};

// The buffers and the arithmetic of one call.
struct RoutineCall {
  std::span<std::byte* const> buffers;
  Arithmetic arithmetic;
  template <class T>
  T* buffer(int i) const {
    return reinterpret_cast<T*>(buffers[i]);
  }
};

// A routine as a `call` statement runs it, with its arguments packed into a list of numbers (pack.h).
using Routine = void (*)(const RoutineCall& call, std::span<const int64_t> args);

// An entry of a table of routines: the name, and a wrapper that unpacks the arguments and calls the function.
struct RoutineEntry {
  std::string_view name;
  Routine routine;
};
template <class Args, void (*function)(const RoutineCall&, const Args&)>
constexpr RoutineEntry entry() {
  return {Args::kRoutine,
          [](const RoutineCall& call, std::span<const int64_t> args) { function(call, unpack<Args>(args)); }};
}

// The definition of the routine of that name, or nullptr.
Routine find_routine(std::string_view name);

}  // namespace sheaf::routines

// Routines that a kernel may `call`: work that scalar loops express badly (contractions, sorting). The functions here
// define the meaning, plainly; a back end may bring a faster version that gives the same bits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sheaf::loop {

struct CallArgs {
  std::span<std::byte* const> buffers;
  std::span<const int64_t> args;
};
using Routine = void (*)(const CallArgs&);

// nullptr when there is no such routine.
Routine find_routine(std::string_view name);

// Contractions sum over k in blocks of this many terms: inside a block a chain of fused multiply-adds in order of k that
// starts from zero, then the block's value is added to the total so far.
inline constexpr int64_t kContractBlock = 512;

}  // namespace sheaf::loop

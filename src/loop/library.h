// Routines that a kernel may `call`: work that scalar loops express badly (contractions, sorting). The functions here
// define the meaning, plainly; a back end may bring a faster version that gives the same bits.
#pragma once
#include <algorithm>
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

// Contractions sum over k in blocks of at most so many terms: inside a block a chain of fused multiply-adds in order of k that
// starts from zero, then the block's value is added to the total so far. Blocks are of one length, so that threads can share them, but for the last.
inline constexpr int64_t kContractBlock = 512;
constexpr int64_t contract_block(int64_t k) {
  constexpr int64_t kMultiple = 32;
  int64_t blocks = std::max<int64_t>(1, (k + kContractBlock - 1) / kContractBlock), each = (k + blocks - 1) / blocks;
  return std::max(kMultiple, (each + kMultiple - 1) / kMultiple * kMultiple);
}

}  // namespace sheaf::loop

// Packed copies of operands that launches read again and again unchanged, such as the weights of a model that generates
// text. A copy belongs to the buffer that it was made from: it is freed with that buffer, or when the buffer's content
// changes. Of a weight in a mapped file only the copy stays in memory. All copies together stay within a budget, a part
// of the memory that buffers may take. Thread-safe.
#pragma once
#include "runtime/cpu_runner.h"

namespace sheaf::runtime {

// The packed operand of a launch, or nullptr: it may change, was not read often enough yet, or there is no room.
std::byte* packed_operand(const Launch& launch, const Plan& plan, const Memory& memory);

// Bytes in packed copies, and how many there may be.
struct PackedStats {
  int64_t bytes, most_bytes;
};
PackedStats packed_stats();

}  // namespace sheaf::runtime

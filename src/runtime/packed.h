// A cache of packed copies of operands that launches read repeatedly without changes, such as the weights of a model
// that generates text. A copy belongs to the buffer that it was packed from: it is freed with that buffer, or when the
// buffer's content changes. If a weight is in a mapped file, only the copy stays in memory. All copies together stay
// within a budget, a part of the memory that buffers may take. Thread-safe.
#pragma once
#include "runtime/cpu_runner.h"

namespace sheaf::runtime {

// The packed operand of a launch, or nullptr if it may change, was not read often enough yet, or there is no room.
std::byte* packed_operand(const Launch& launch, const Plan& plan, const Memory& memory);

// Bytes in packed copies, and their limit.
struct PackedStats {
  int64_t bytes, most_bytes;
};
PackedStats packed_stats();

}  // namespace sheaf::runtime

// The memory of the machine that this process may use, as control groups allow, and uses.
#pragma once
#include <cstddef>

namespace sheaf {

size_t memory_allowed();

// Memory of this process that is in RAM, shared pages included.
size_t resident_bytes();
// The same without pages of files, which the system can take away: what the process holds.
size_t unshared_bytes();

}  // namespace sheaf

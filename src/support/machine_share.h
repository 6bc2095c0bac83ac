// What of the machine this process may use, and uses: cores and memory as the affinity mask and the control groups
// allow.
#pragma once
#include <cstddef>

namespace sheaf {

// At least 1.
int cpus_allowed();

size_t memory_allowed();

// Memory of this process that is in RAM, shared pages included.
size_t resident_bytes();
// The same without pages of files, which the system can take away: what the process holds.
size_t unshared_bytes();

}  // namespace sheaf

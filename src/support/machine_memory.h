// The machine memory that this process may use, within the limits of control groups, and that it uses.
#pragma once
#include <cstddef>

namespace sheaf {

size_t memory_allowed();

// Resident memory of this process, shared pages included.
size_t resident_bytes();
// The same without file-backed pages, which the system can reclaim.
size_t unshared_bytes();

}  // namespace sheaf

// Copies of host buffers in the memory of devices (Buffer::in). They can be made again.
#pragma once
#include <cstddef>

#include "tensor/space.h"

namespace sheaf {

// Frees the copies in `space` and returns their number. Requires that nobody holds their addresses. Thread-safe.
size_t drop_device_copies(Space& space);

}  // namespace sheaf

// Parts of arrays between spaces.
#pragma once
#include <cstddef>

#include "tensor/tensor.h"

namespace sheaf {

// Copies bytes [first, first + bytes) of a buffer to the host. Unlike Buffer::host() it leaves the rest where it is.
void fetch_part(const Buffer& buffer, size_t first, std::byte* to, size_t bytes);

// Copies the elements of `from`, in the space of `to` or on the host, to the memory of `to`, whose maker or only owner
// calls this. Both are contiguous and have the same sizes and dtype.
void copy_into(const Tensor& from, const Tensor& to);

}  // namespace sheaf

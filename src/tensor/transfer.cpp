#include "tensor/transfer.h"

#include <cstdint>

namespace sheaf {

void fetch_part(const Buffer& buffer, size_t first, std::byte* to, size_t bytes) {
  buffer.home().fetch(buffer.address() + first, to, bytes);
}

void copy_into(const Tensor& from, const Tensor& to) {
  Space& space = to.buffer->home();
  if (&from.buffer->home() == &space) return space.copy(from, to);
  const auto width = static_cast<uint64_t>(size_bytes(to.dtype));
  space.send(from.bytes(), to.buffer->address() + static_cast<uint64_t>(to.offset) * width,
             static_cast<size_t>(to.num_elems()) * width);
}

}  // namespace sheaf

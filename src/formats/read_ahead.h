// Reads large mapped files sequentially before their first use: a disk that serves many requests at once then runs at
// full bandwidth, while page faults would wait for one small block after another.
#pragma once
#include <cstddef>
#include <memory>

#include "support/mutex.h"

namespace sheaf::formats {

// An address range, shared by its buffer and the reader thread; `gone` once the buffer has been released.
struct Mapping {
  Mapping(std::byte* data, size_t bytes) : data(data), bytes(bytes) {}
  std::byte* data;
  size_t bytes;
  Mutex mu;
  bool gone GUARDED_BY(mu) = false;
};

// Returns at once; a separate thread reads the files one after the other. Skips pages that are already in memory, and
// files for which memory has no room.
void read_ahead(std::shared_ptr<Mapping> file);

}  // namespace sheaf::formats

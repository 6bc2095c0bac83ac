// Large mapped files are asked for from their start to their end before anybody touches them: a disk that serves many
// requests at once then works at its full rate, where faults would wait for one small piece after another.
#pragma once
#include <cstddef>
#include <memory>

#include "support/mutex.h"

namespace sheaf::formats {

// Part of the address space, shared by the buffer over it and the reader; `gone` when the buffer has been given up.
struct Mapping {
  Mapping(std::byte* data, size_t bytes) : data(data), bytes(bytes) {}
  std::byte* data;
  size_t bytes;
  Mutex mu;
  bool gone GUARDED_BY(mu) = false;
};

// Returns at once; a thread of its own reads the files one after the other. What is in memory already is left alone,
// and so is what memory would have no room for.
void read_ahead(std::shared_ptr<Mapping> file);

}  // namespace sheaf::formats

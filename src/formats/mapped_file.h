// Memory-mapped files: pages are read on first access, and belong to the system's page cache.
#pragma once
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace sheaf::formats {

// The expected access pattern of a mapped file: sparse, or all of it soon.
enum class Use : uint8_t { InPlaces, Whole };

// Maps the whole file read-only for the lifetime of the buffer; saving over the file later does not change it. An empty
// file gives an empty buffer.
Ref<Buffer> map_file(const std::string& path, std::string_view verb, Use use);
inline std::string_view bytes_of(const Buffer& b) { return {reinterpret_cast<const char*>(b.host()), b.size_bytes()}; }

}  // namespace sheaf::formats

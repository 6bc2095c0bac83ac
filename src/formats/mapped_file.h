// Files as memory: pages are read when they are touched, and belong to the system's cache.
#pragma once
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace sheaf::formats {

// How a mapped file will be used: here and there, or all of it soon.
enum class Use : uint8_t { InPlaces, Whole };

// The whole file, read-only, for as long as the buffer lives; saving over the file later does not change it. An empty
// file gives an empty buffer.
Ref<Buffer> map_file(const std::string& path, std::string_view verb, Use use);
inline std::string_view bytes_of(const Buffer& b) { return {reinterpret_cast<const char*>(b.host()), b.size_bytes()}; }

}  // namespace sheaf::formats

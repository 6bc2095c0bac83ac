// Deflate compression, as in zip archives and pictures.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::formats {

enum class Wrapping : uint8_t { None, Zlib };
// Returns exactly `size` bytes. Memory grows with the actual output, not with the size that the file claims. Throws
// UserError; `name` starts its message.
std::string inflate_bytes(std::string_view packed, uint64_t size, Wrapping wrapping, const std::string& name);
std::string deflate_bytes(std::string_view bytes);  // with a zlib wrapper
uint32_t crc32_of(std::string_view bytes);

}  // namespace sheaf::formats

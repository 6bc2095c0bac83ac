// Deflated bytes, as zip archives and pictures hold them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sheaf::formats {

enum class Wrapping : uint8_t { None, Zlib };
// Exactly `size` bytes. Memory grows with what really comes out, never with what the file claims. Throws UserError;
// `name` begins its message.
std::string inflate_bytes(std::string_view packed, uint64_t size, Wrapping wrapping, const std::string& name);
std::string deflate_bytes(std::string_view bytes);  // with zlib's wrapping
uint32_t crc32_of(std::string_view bytes);

}  // namespace sheaf::formats

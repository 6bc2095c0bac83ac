// Files that were compressed as a whole, by gzip or zstd.
#pragma once
#include <string>
#include <string_view>

namespace sheaf::formats {

// By the first bytes.
bool is_compressed(std::string_view bytes);
// What was compressed; several compressed parts in a row are one. Memory grows with what really comes out. Throws
// UserError.
std::string decompress(std::string_view bytes);
// The name of what a compressed file holds: without .gz or .zst.
std::string inner_name(const std::string& path);

}  // namespace sheaf::formats

// Files compressed as a whole, by gzip or zstd.
#pragma once
#include <string>
#include <string_view>

namespace sheaf::formats {

// Decides by the first bytes.
bool is_compressed(std::string_view bytes);
// Decompresses; concatenates consecutive compressed parts. Memory grows with the actual output. Throws UserError.
std::string decompress(std::string_view bytes);
// The file name without .gz or .zst.
std::string inner_name(const std::string& path);

}  // namespace sheaf::formats

// Reading zip archives whose entries are stored, not compressed, as NumPy and PyTorch write them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::formats {

struct ZipEntry {
  std::string_view name, data;  // into the archive's bytes
};

bool is_zip(std::string_view bytes);
// Throws UserError for a damaged archive or a compressed entry.
std::vector<ZipEntry> read_zip(std::string_view bytes);

}  // namespace sheaf::formats

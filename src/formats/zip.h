// Zip archives as NumPy and PyTorch write them: entries are stored or deflated.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::formats {

struct ZipEntry {
  std::string_view name, data;  // slices of the archive's bytes; data of `inflated` if that is set
  uint64_t stored_bytes = 0;    // its size in the archive
  std::shared_ptr<const std::string> inflated;
};

bool is_zip(std::string_view bytes);
// Throws UserError for a damaged archive.
std::vector<ZipEntry> read_zip(std::string_view bytes);

struct ZipLayout {
  size_t align = 1;             // alignment of each entry's data
  uint64_t large = 0xFFFFFFFF;  // larger sizes and offsets are written as 64-bit ones (tests lower it)
};
// Stores all entries uncompressed; reads only their name and data.
std::string write_zip(const std::vector<ZipEntry>& entries, const ZipLayout& layout = {});

}  // namespace sheaf::formats

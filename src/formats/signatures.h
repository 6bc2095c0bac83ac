// Files of other programs that are not read here: what they are, and what to do with them. Known by their first bytes
// whatever they are called; by name only where the bytes tell nothing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formats/zip.h"

namespace sheaf::formats {

struct Foreign {
  std::string_view what, advice;
};

// Null if the bytes and the name say nothing.
const Foreign* recognise(std::string_view bytes, const std::string& path);
// The same for an archive, by the names of its entries.
const Foreign* recognise_archive(const std::vector<ZipEntry>& entries);
// A directory that another program reads as one thing, by the names in it.
const Foreign* recognise_directory(const std::vector<std::string>& names);

// Whether the beginning holds bytes that no text has.
bool is_binary(std::string_view bytes);

}  // namespace sheaf::formats

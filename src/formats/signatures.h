// Recognises files of other programs that are not supported here, with advice on what to do with them. Decides by their
// first bytes, whatever the name; by the name only if the bytes are not distinctive.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formats/zip.h"

namespace sheaf::formats {

struct Foreign {
  std::string_view what, advice;
};

// Returns null if neither bytes nor name match.
const Foreign* recognise(std::string_view bytes, const std::string& path);
// The same for an archive, by the names of its entries.
const Foreign* recognise_archive(const std::vector<ZipEntry>& entries);
// A directory that another program treats as one file, by the names in it.
const Foreign* recognise_directory(const std::vector<std::string>& names);

// True if the first bytes cannot occur in text.
bool is_binary(std::string_view bytes);

}  // namespace sheaf::formats

// PyTorch checkpoints (torch.save): a zip archive of a pickle and raw storages, or the older layout of several
// consecutive pickles followed by the storages. Never calls anything from the file: returns tensors, containers,
// numbers and text.
#pragma once
#include <string>
#include <string_view>

#include "formats/objects.h"
#include "formats/zip.h"
#include "value/value.h"

namespace sheaf::formats {

bool is_torch_archive(const std::vector<ZipEntry>& entries);
// `whole` as for tensor_from_raw.
Value parse_torch_archive(const std::vector<ZipEntry>& entries, const Ref<Buffer>& whole = {},
                          Objects objects = Objects::Refuse);
bool is_torch_legacy(std::string_view bytes);
Value parse_torch_legacy(std::string_view bytes, const Ref<Buffer>& whole = {}, Objects objects = Objects::Refuse);
// Either layout, for a file that claims to be one of them.
Value parse_torch(std::string_view bytes);
// Writes a tree of data, keywords as text, in the newer layout.
std::string write_torch(const Value& v);

}  // namespace sheaf::formats

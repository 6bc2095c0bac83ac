// PyTorch checkpoints (torch.save): a zip archive of a pickle and raw storages, or the older layout, several pickles in
// a row, followed by the storages. Nothing is ever called: tensors, containers, numbers and text come back.
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
// Either, for a file that claims to be one.
Value parse_torch(std::string_view bytes);
// A tree of data, keywords as text, in the newer layout.
std::string write_torch(const Value& v);

}  // namespace sheaf::formats

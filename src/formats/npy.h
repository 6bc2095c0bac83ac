// NumPy's .npy (one array) and .npz (a zip of them, which loads as a dict).
#pragma once
#include <string>
#include <string_view>

#include "formats/zip.h"
#include "value/value.h"

namespace sheaf::formats {

bool is_npy(std::string_view bytes);
// `whole` as in tensor_from_raw.
Value parse_npy(std::string_view bytes, const Ref<Buffer>& whole = {});
Value parse_npz(std::string_view bytes);
Value parse_npz(const std::vector<ZipEntry>& entries, const Ref<Buffer>& whole = {});
std::string write_npy(const Tensor& t);
// A dict of tensors and numbers.
std::string write_npz(const Value& v);

}  // namespace sheaf::formats

// The safetensors format (built-ins specification §13.2): named arrays after a JSON header. A tree that names and
// arrays alone cannot express (numbers, text, nil, empty containers, tuples) is described in the file's metadata under
// "sheaf", so that loading gives back an equal tree; other programs see the arrays, and numbers as arrays without axes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formats/key_tree.h"
#include "value/value.h"

namespace sheaf::formats {

// `whole` as for tensor_from_raw.
Value parse_safetensors(std::string_view bytes, const Ref<Buffer>& whole = {});
// The arrays of one file of several, by their full names.
std::vector<KeyedTensor> parse_shard(std::string_view bytes, const Ref<Buffer>& whole = {});

// What goes into a file: the header, then the arrays one after the other.
struct SafetensorsFile {
  std::string header;
  std::vector<Tensor> arrays;
};
SafetensorsFile describe_safetensors(const Value& v);
std::string write_safetensors(const Value& v);

}  // namespace sheaf::formats

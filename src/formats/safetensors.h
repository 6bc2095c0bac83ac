// The safetensors format (built-ins specification §13.2): named arrays after a JSON header. A tree that names and
// arrays alone cannot express (numbers, text, nil, empty containers, tuples) is described in the file's metadata under
// "sheaf", so that loading gives back an equal tree; other programs see the arrays, and numbers as arrays without axes.
//
// Checkpoints also carry checksums (XXH3, 64 bits, hexadecimal), and reading such a file checks all of them: of the
// header under "sheaf.header", of the arrays by name under "sheaf.xxh3". Other files have none: what is loaded as
// weights is read when it is used and not before.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formats/key_tree.h"
#include "value/value.h"

namespace sheaf::formats {

// Whether the bytes begin with the length of a header and the brace that opens one.
bool is_safetensors(std::string_view bytes);
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

// A state, and the options of the program that saved it: a dict, empty in files of older versions. They lie in the
// metadata, under "sheaf.options", so that who loads the file as a value does not meet them.
struct Checkpoint {
  Value state, options;
};
Checkpoint parse_checkpoint(std::string_view bytes, const Ref<Buffer>& whole = {});
SafetensorsFile describe_checkpoint(const Checkpoint& c);

}  // namespace sheaf::formats

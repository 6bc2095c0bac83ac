// The safetensors format (built-ins specification §13.2): named arrays after a JSON header. Trees with more than named
// arrays (numbers, text, nil, empty containers, tuples) are described in the file's metadata under "sheaf", so that
// loading returns an equal tree; other programs see the arrays, and numbers as arrays without axes.
//
// Checkpoints also contain checksums (XXH3, 64 bits, hexadecimal), all of which are verified on reading: of the header
// under "sheaf.header", of the arrays by name under "sheaf.xxh3". Other files have none: weights are read on first use
// and not before.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "formats/key_tree.h"
#include "value/value.h"

namespace sheaf::formats {

// True if the bytes start with the length of a header and its opening brace.
bool is_safetensors(std::string_view bytes);
// `whole` as in tensor_from_raw.
Value parse_safetensors(std::string_view bytes, const Ref<Buffer>& whole = {});
// The arrays of one file of a sharded set, by their full names.
std::vector<KeyedTensor> parse_shard(std::string_view bytes, const Ref<Buffer>& whole = {});

// The contents of a file: the header, then the arrays one after the other.
struct SafetensorsFile {
  std::string header;
  std::vector<Tensor> arrays;
};
SafetensorsFile describe_safetensors(const Value& v);
std::string write_safetensors(const Value& v);

// A state, and the options of the program that saved it: a dict, empty in files of older versions. The options are
// stored in the metadata under "sheaf.options", so loading the file as a value does not return them.
struct Checkpoint {
  Value state, options;
};
Checkpoint parse_checkpoint(std::string_view bytes, const Ref<Buffer>& whole = {});
SafetensorsFile describe_checkpoint(const Checkpoint& c);

}  // namespace sheaf::formats

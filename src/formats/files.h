// Whole files: bytes in and out, and values by format (built-ins specification §13). Failures are UserErrors that name
// the path.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/jpeg.h"
#include "formats/json.h"
#include "formats/objects.h"
#include "value/value.h"

namespace sheaf::formats {

// Throws UserError if the path holds a NUL character, where the system would cut it off. Everything below asks.
void check_path(const std::string& path, std::string_view verb);
// `verb` begins the message: "io read 'P': No such file or directory".
std::string read_file(const std::string& path, std::string_view verb = "io read");
// The same of text that may be compressed as a whole.
std::string read_text(const std::string& path);
// Replaces the file as one step: a reader, or a crash, sees the old contents or the new, and what was written is on the
// disk when the call returns. Missing parent directories are made.
void write_file(const std::string& path, std::string_view bytes, std::string_view verb = "io write");
// The same, of parts that follow each other.
void write_file(const std::string& path, std::span<const std::string_view> parts, std::string_view verb);
// Adds to the end of a file, which is made if it is not there.
void append_file(const std::string& path, std::string_view bytes, std::string_view verb);

struct LoadOptions {
  Objects objects = Objects::Refuse;  // of pickles and checkpoints
  std::vector<std::string> columns;   // of a Parquet table; empty: all
};
// By name: .safetensors.index.json (the files it names), .csv .tsv .jsonl; a directory is a dict of its .npy files. By
// their first bytes: safetensors (mapped, not read), NumPy arrays and zip archives of them, PyTorch checkpoints,
// pickles, Parquet tables, PNG and JPEG pictures, WAV sound; files of other programs are refused with a word on what
// they are. JSON otherwise. Large arrays are mapped where the format allows.
Value load_value(const std::string& path, const LoadOptions& options = {});
struct SaveOptions {
  JsonOptions json;
  int quality = kJpegQuality;
};
// By name: .safetensors .npy .npz .csv .tsv .jsonl .png .jpg .wav, a path that ends in / for a directory of .npy files;
// JSON otherwise.
void save_value(const std::string& path, const Value& v, const SaveOptions& options = {});
// The state of a training as a .safetensors file with checksums, and its options.
void save_checkpoint(const std::string& path, const Value& state, const Value& options);
// A file that cannot be read is an error; one that is not whole says so: `damage` is what is wrong with it.
struct LoadedCheckpoint {
  Value state, options;
  std::string damage;
};
LoadedCheckpoint load_checkpoint(const std::string& path);
// Renames a file to its name with `ending`, or with a number as well when that is taken; the new name.
std::string set_aside(const std::string& path, std::string_view ending, std::string_view verb);
// A file of plain elements as a tensor over it: `sizes` with at most one -1, or empty for one axis.
Value map_elements(const std::string& path, DType dtype, const Dims& sizes, uint64_t skip_bytes);

}  // namespace sheaf::formats

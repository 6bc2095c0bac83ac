// Whole files: reading and writing bytes, and values by format (built-ins specification §13). Failures are UserErrors
// that name the path.
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

// Throws UserError if the path contains a NUL character, where the system would truncate it. All functions below call
// it.
void check_path(const std::string& path, std::string_view verb);
// `verb` starts the message: "io read 'P': No such file or directory".
std::string read_file(const std::string& path, std::string_view verb = "io read");
// The same for text that may be compressed as a whole.
std::string read_text(const std::string& path);
// Replaces the file atomically: a reader, or a crash, sees either the old contents or the new, and the contents are on
// disk when the call returns. Creates missing parent directories.
void write_file(const std::string& path, std::string_view bytes, std::string_view verb = "io write");
// The same for consecutive parts.
void write_file(const std::string& path, std::span<const std::string_view> parts, std::string_view verb);
// Appends to a file, and creates it if necessary.
void append_file(const std::string& path, std::string_view bytes, std::string_view verb);

struct LoadOptions {
  Objects objects = Objects::Refuse;  // of pickles and checkpoints
  std::vector<std::string> columns;   // of a Parquet table; empty: all
};
// By name: .safetensors.index.json (the files it names), .csv .tsv .jsonl; a directory is a dict of its .npy files. By
// first bytes: safetensors (mapped, not read), NumPy arrays and zip archives of them, PyTorch checkpoints, pickles,
// Parquet tables, PNG and JPEG pictures, WAV sound; known files of other programs are refused with an explanation. Else
// JSON. Large arrays are mapped if the format allows it.
Value load_value(const std::string& path, const LoadOptions& options = {});
struct SaveOptions {
  JsonOptions json;
  int quality = kJpegQuality;
};
// By name: .safetensors .npy .npz .csv .tsv .jsonl .png .jpg .wav, a path that ends in / for a directory of .npy files;
// else JSON.
void save_value(const std::string& path, const Value& v, const SaveOptions& options = {});
// The state of a training as a .safetensors file with checksums, and its options.
void save_checkpoint(const std::string& path, const Value& state, const Value& options);
// An unreadable file is an error; for an incomplete one, `damage` describes the problem.
struct LoadedCheckpoint {
  Value state, options;
  std::string damage;
};
LoadedCheckpoint load_checkpoint(const std::string& path);
// Appends `ending` to a file's name, and a number if that name is taken; returns the new name.
std::string set_aside(const std::string& path, std::string_view ending, std::string_view verb);
// A tensor that maps a file of plain elements: `sizes` with at most one -1, or empty for one axis.
Value map_elements(const std::string& path, DType dtype, const Dims& sizes, uint64_t skip_bytes);

}  // namespace sheaf::formats

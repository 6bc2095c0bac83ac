// Whole files: bytes in and out, and values by format (built-ins specification §13). Failures are UserErrors that name
// the path.
#pragma once
#include <string>
#include <string_view>

#include "value/value.h"

namespace sheaf::formats {

// `verb` begins the message: "io read 'P': No such file or directory".
std::string read_file(const std::string& path, std::string_view verb = "io read");
// Replaces the file as one step: a reader, or a crash, sees the old contents or the new. Missing parent directories are
// made.
void write_file(const std::string& path, std::string_view bytes, std::string_view verb = "io write");

// .safetensors by name; NumPy arrays, zip archives of them and pickles by their first bytes; JSON otherwise.
Value load_value(const std::string& path);
// .safetensors, .npy and .npz by name, JSON otherwise.
void save_value(const std::string& path, const Value& v);

}  // namespace sheaf::formats

// Native code on disk, one file for each kernel, named by a hash of the inputs of compilation. Processes share a
// folder: a file is written under another name, then renamed, and never changes. The code will be executed, so the
// folder must be the user's own and closed to others, and a file is used only if its checksum and its key are right.
// Thread-safe.
//
// One file for a whole executable was the alternative: forty files of a training step open and load in 2 ms, and a
// changed model finds the kernels of its unchanged layers.
#pragma once
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codegen/llvm/native.h"

namespace sheaf::compiler {

struct CodeKey {
  std::array<uint64_t, 2> words{};
  std::string hex() const;
  friend auto operator<=>(const CodeKey&, const CodeKey&) = default;
};

// Sets the folder for code; an empty path, the default before the first call, keeps none on disk. The first write
// creates the folder.
void set_code_folder(const std::filesystem::path& folder);
std::filesystem::path code_folder();
// $XDG_CACHE_HOME/sheaf or ~/.cache/sheaf; empty if there is no home.
std::filesystem::path default_code_folder();

// Limit of the files together; the least recently used ones are removed first.
inline constexpr uint64_t kDefaultFolderBytes = uint64_t{256} << 20;
void set_code_folder_limit(uint64_t bytes);

// Identifies the compiler: the program's build, LLVM and the processor.
const std::string& compiler_identity();

// Returns nothing if there is no file. Removes a file that is damaged or not ours, and returns nothing.
std::optional<codegen::NativeObject> load_code(const CodeKey& key);
// Fails silently: the program has its code, and only the copy on disk is missing. `label` is for `sheaf cache list`.
void store_code(const CodeKey& key, const codegen::NativeObject& object, const std::string& label);

// Lines of text kept with the code, for this compiler_identity: all that any process stored under a name.
std::string stored_lines(std::string_view name);
void store_line(std::string_view name, const std::string& line);

struct StoredCode {
  std::string file, label, identity, problem;  // problem: why it would not be used
  uint64_t bytes = 0;
  std::time_t last_use = 0;
};
// The files of the folder, most recently used first.
std::vector<StoredCode> stored_code();
// Removes all files, lines of text too. Returns the number of code files.
size_t clear_stored_code();

}  // namespace sheaf::compiler

// Native code on disk, one file for each kernel, named by what the code was made from. Processes share a folder: a file
// appears whole (written aside, then renamed) and is never changed. Code that is read will be executed, so the folder
// must be the user's own and closed to others, and a file is used only when its checksum and its key are right.
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

// Where code is kept; an empty path keeps none on disk, as before the first call. The folder is made when something is
// written.
void set_code_folder(const std::filesystem::path& folder);
std::filesystem::path code_folder();
// $XDG_CACHE_HOME/sheaf or ~/.cache/sheaf; empty when there is no home.
std::filesystem::path default_code_folder();

// The files together stay below this; the ones that were used longest ago go first.
inline constexpr uint64_t kDefaultFolderBytes = uint64_t{256} << 20;
void set_code_folder_limit(uint64_t bytes);

// What identifies the compiler: the program's build, LLVM and the processor.
const std::string& compiler_identity();

// Nothing when there is no file; a file that is damaged or not ours is removed, and counts as none.
std::optional<codegen::NativeObject> load_code(const CodeKey& key);
// Failures are silent: the code is there, it is just not kept. `label` is for `sheaf cache list`.
void store_code(const CodeKey& key, const codegen::NativeObject& object, const std::string& label);

// Lines of text kept with the code, for this compiler_identity: all that were stored under a name, by any process.
std::string stored_lines(std::string_view name);
void store_line(std::string_view name, const std::string& line);

struct StoredCode {
  std::string file, label, identity, problem;  // problem: why it would not be used
  uint64_t bytes = 0;
  std::time_t last_use = 0;
};
// The files of the folder, last used first.
std::vector<StoredCode> stored_code();
// Removes all files, lines of text too; the number of files of code.
size_t clear_stored_code();

}  // namespace sheaf::compiler

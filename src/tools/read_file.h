// Files named on the command line.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tools {

// The file name that means standard input.
inline constexpr std::string_view kStdin = "-";

// The operating system's reason, or nothing if the file can be read.
std::optional<std::string> why_unreadable(const std::string& path);
// Prints `sheaf: cannot read 'F': …` if it cannot.
bool check_readable(const std::string& path);

// All of standard input.
std::string read_stdin();

// The words, with every folder replaced by the programs below it for which `wanted` holds, in order; skips hidden
// folders.
std::vector<std::string> programs_in(const std::vector<std::string>& words,
                                     const std::function<bool(const std::string&)>& wanted = {});

// The arguments of a command over programs with one switch, such as `sheaf fmt [--check] PATH…`. A path is a file, a
// folder or `-`.
struct ProgramList {
  bool flag = false;
  std::vector<std::string> files;  // as of programs_in

  // Throws UsageError for an unknown option, or without a path.
  static ProgramList of(const std::vector<std::string>& words, std::string_view command, std::string_view flag);
  // Calls `visit` with each readable file, and with kStdin; reports the others. Returns true if all could be read.
  bool for_each_readable(const std::function<void(const std::string&)>& visit) const;
};

}  // namespace sheaf::tools

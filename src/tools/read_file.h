// Files named on the command line.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tools {

// The name of standard input among files.
inline constexpr std::string_view kStdin = "-";

// The operating system's reason, or nothing when the file can be read.
std::optional<std::string> why_unreadable(const std::string& path);
// Says `sheaf: cannot read 'F': …` when it cannot.
bool check_readable(const std::string& path);

// All of standard input.
std::string read_stdin();

// The words with every folder replaced by the programs below it, in order, for which `wanted` holds; hidden folders are
// left out.
std::vector<std::string> programs_in(const std::vector<std::string>& words,
                                     const std::function<bool(const std::string&)>& wanted = {});

// The words of a command over programs with one switch, such as `sheaf fmt [--check] PATH…`. A path is a file, a folder
// or `-`.
struct ProgramList {
  bool flag = false;
  std::vector<std::string> files;  // as of programs_in

  // Throws UsageError for another option, or when there is no path.
  static ProgramList of(const std::vector<std::string>& words, std::string_view command, std::string_view flag);
  // Calls `visit` with each file that can be read, and with kStdin; says which cannot. Whether all could be read.
  bool for_each_readable(const std::function<void(const std::string&)>& visit) const;
};

}  // namespace sheaf::tools

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

}  // namespace sheaf::tools

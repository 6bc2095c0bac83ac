// Files named on the command line.
#pragma once
#include <optional>
#include <string>

namespace sheaf::tools {

// The operating system's reason, or nothing when the file can be read.
std::optional<std::string> why_unreadable(const std::string& path);
// Says `sheaf: cannot read 'F': …` when it cannot.
bool check_readable(const std::string& path);

}  // namespace sheaf::tools

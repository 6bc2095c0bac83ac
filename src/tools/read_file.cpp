#include "tools/read_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "tools/command_line.h"
#include "tools/terminal.h"

namespace sheaf::tools {

namespace fs = std::filesystem;

std::optional<std::string> why_unreadable(const std::string& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return std::strerror(EISDIR);
  // Does not open the file: the other side of a named pipe would mistake that for its reader.
  if (::access(path.c_str(), R_OK) == 0) return std::nullopt;
  return std::strerror(errno);
}

bool check_readable(const std::string& path) {
  auto why = why_unreadable(path);
  if (why) say(fmt::format("sheaf: cannot read '{}': {}", path, *why));
  return !why;
}

std::string read_stdin() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

std::vector<std::string> programs_in(const std::vector<std::string>& words,
                                     const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::string> files;
  for (const std::string& w : words) {
    std::error_code ec;
    if (!fs::is_directory(w, ec)) {
      files.push_back(w);
      continue;
    }
    size_t first = files.size();
    for (auto it = fs::recursive_directory_iterator(w, ec); it != fs::recursive_directory_iterator(); ++it) {
      if (it->path().filename().string().starts_with('.') && it->is_directory(ec)) it.disable_recursion_pending();
      if (it->is_regular_file(ec) && it->path().extension() == ".shf" && (!wanted || wanted(it->path().string())))
        files.push_back(it->path().string());
    }
    std::sort(files.begin() + static_cast<ptrdiff_t>(first), files.end());
  }
  return files;
}

ProgramList ProgramList::of(const std::vector<std::string>& words, std::string_view command, std::string_view flag) {
  ProgramList list;
  std::vector<std::string> paths;
  for (const std::string& w : words) {
    if (w == flag)
      list.flag = true;
    else if (w.starts_with("--"))
      throw UsageError(fmt::format("{}: unknown option '{}'. Known options: {}", command, w, flag));
    else
      paths.push_back(w);
  }
  if (paths.empty())
    throw UsageError(fmt::format("{} requires at least one file or folder, or - for standard input", command));
  list.files = programs_in(paths);
  return list;
}

bool ProgramList::for_each_readable(const std::function<void(const std::string&)>& visit) const {
  bool all = true;
  for (const std::string& f : files) {
    if (f == kStdin || check_readable(f))
      visit(f);
    else
      all = false;
  }
  return all;
}

}  // namespace sheaf::tools

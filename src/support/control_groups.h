// Limits that the system sets for groups of processes.
#pragma once
#include <fstream>
#include <string>

namespace sheaf {

// Calls read(stream) with the file `name` of our control group (v2) and of each ancestor, whose limits apply to us too.
template <class Read>
void for_each_control_group(const char* name, Read read) {
  std::string path;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) path = line.substr(3);
  for (;; path.resize(path.rfind('/'))) {
    std::ifstream file("/sys/fs/cgroup" + path + "/" + name);
    if (file) read(file);
    if (path.rfind('/') == std::string::npos) break;
  }
}

}  // namespace sheaf

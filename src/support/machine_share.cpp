#include "support/machine_share.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace sheaf {
namespace {

// The file `name` of our control group (v2) and of each one above it, whose limits hold for us too.
template <class Read>
void for_each_group(const char* name, Read read) {
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

}  // namespace

int cpus_allowed() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                      : static_cast<int>(std::thread::hardware_concurrency());
  for_each_group("cpu.max", [&](std::istream& in) {
    double quota = 0, period = 0;  // or the word "max"
    if (in >> quota >> period && period > 0) n = std::min(n, static_cast<int>(quota / period + 0.999));
  });
  return std::max(1, n);
}

size_t memory_allowed() {
  struct sysinfo info{};
  sysinfo(&info);
  size_t bytes = static_cast<size_t>(info.totalram) * info.mem_unit;
  for_each_group("memory.max", [&](std::istream& in) {
    size_t limit = 0;  // or the word "max"
    if (in >> limit && limit > 0) bytes = std::min(bytes, limit);
  });
  return bytes;
}

size_t resident_bytes() {
  unsigned long total = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu %lu", &total, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace sheaf

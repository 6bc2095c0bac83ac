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

struct Pages {
  unsigned long all = 0, shared = 0;
};
Pages resident_pages() {
  unsigned long total = 0;
  Pages p;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu %lu %lu", &total, &p.all, &p.shared) != 3) p = {};
    std::fclose(f);
  }
  return p;
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

size_t resident_bytes() { return resident_pages().all * static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

size_t unshared_bytes() {
  Pages pages = resident_pages();
  return (pages.all - std::min(pages.all, pages.shared)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace sheaf

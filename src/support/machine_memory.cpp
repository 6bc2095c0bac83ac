#include "support/machine_memory.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "support/control_groups.h"

namespace sheaf {
namespace {

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

size_t memory_allowed() {
  struct sysinfo info{};
  sysinfo(&info);
  size_t bytes = static_cast<size_t>(info.totalram) * info.mem_unit;
  for_each_control_group("memory.max", [&](std::istream& in) {
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

#include "runtime/profiler.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace sheaf::runtime {

bool g_profiling = false;

namespace {

std::mutex mu;
std::map<std::string, KernelTime> times;
BufferTime buffers;

}  // namespace

void record_kernel(const std::string& name, uint64_t ns) {
  std::lock_guard lock(mu);
  KernelTime& t = times[name];
  t.name = name;
  ++t.calls;
  t.ns += ns;
}

void record_buffers(const BufferTime& t) {
  std::lock_guard lock(mu);
  buffers.hits += t.hits;
  buffers.misses += t.misses;
  buffers.ns += t.ns;
}

BufferTime buffer_times() {
  std::lock_guard lock(mu);
  return buffers;
}

std::vector<KernelTime> kernel_times() {
  std::lock_guard lock(mu);
  std::vector<KernelTime> out;
  for (const auto& [name, t] : times) out.push_back(t);
  std::sort(out.begin(), out.end(), [](const KernelTime& a, const KernelTime& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace sheaf::runtime

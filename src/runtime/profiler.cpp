#include "runtime/profiler.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "support/mutex.h"

namespace sheaf::runtime {

bool g_profiling = false;

namespace {

Mutex mu;
std::map<std::string, KernelTime> times GUARDED_BY(mu);
std::map<std::tuple<uint32_t, uint32_t, uint32_t>, SpanTime> by_span GUARDED_BY(mu);
BufferTime buffers GUARDED_BY(mu);

}  // namespace

void record_kernel(const KernelRun& run, uint64_t ns) {
  MutexLock lock(mu);
  SpanTime& s = by_span[{run.span.source, run.span.begin, run.span.end}];
  s.span = run.span;
  ++s.calls;
  s.ns += ns;
  KernelTime& t = times[run.name];
  t.name = run.name;
  t.flops = run.flops;
  t.bytes = run.bytes;
  t.best_ns = t.calls == 0 ? ns : std::min(t.best_ns, ns);
  ++t.calls;
  t.ns += ns;
}

void record_buffers(const BufferTime& t) {
  MutexLock lock(mu);
  buffers.hits += t.hits;
  buffers.misses += t.misses;
  buffers.ns += t.ns;
}

BufferTime buffer_times() {
  MutexLock lock(mu);
  return buffers;
}

std::vector<KernelTime> kernel_times() {
  MutexLock lock(mu);
  std::vector<KernelTime> out;
  for (const auto& [name, t] : times)
    out.push_back(t);
  std::sort(out.begin(), out.end(), [](const KernelTime& a, const KernelTime& b) { return a.ns > b.ns; });
  return out;
}

std::vector<SpanTime> span_times() {
  MutexLock lock(mu);
  std::vector<SpanTime> out;
  for (const auto& [key, t] : by_span)
    out.push_back(t);
  std::sort(out.begin(), out.end(), [](const SpanTime& a, const SpanTime& b) { return a.ns > b.ns; });
  return out;
}

}  // namespace sheaf::runtime

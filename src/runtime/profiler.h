// A profiler of compiled code: calls and nanoseconds per kernel. Off by default.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "support/source.h"

namespace sheaf::runtime {

extern bool g_profiling;

// One kernel: its name, the source form that it came from, and the work of one call.
struct KernelRun {
  const std::string& name;
  const Span& span;
  int64_t flops, bytes;
};

struct KernelTime {
  std::string name;
  uint64_t calls = 0, ns = 0;
  uint64_t best_ns = 0;          // the fastest call: the first ones may have run without native code
  int64_t flops = 0, bytes = 0;  // of one call
};

void record_kernel(const KernelRun& run, uint64_t ns);
// Memory for results: taken over from an argument (a hit) or allocated (a miss).
struct BufferTime {
  uint64_t hits = 0, misses = 0, ns = 0;
};
void record_buffers(const BufferTime& t);
BufferTime buffer_times();
// All kernels, by total time, slowest first.
std::vector<KernelTime> kernel_times();
// The same, grouped by the source form of a launch.
struct SpanTime {
  Span span;
  uint64_t calls = 0, ns = 0;
};
std::vector<SpanTime> span_times();

}  // namespace sheaf::runtime

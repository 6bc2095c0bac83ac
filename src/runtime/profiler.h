// Where the time of compiled code goes: calls and nanoseconds per kernel. Off unless asked for.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::runtime {

extern bool g_profiling;

struct KernelTime {
  std::string name;
  uint64_t calls = 0, ns = 0;
};

void record_kernel(const std::string& name, uint64_t ns);
// Slowest first.
std::vector<KernelTime> kernel_times();

}  // namespace sheaf::runtime

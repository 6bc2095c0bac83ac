#include "support/cores.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>

#include "support/control_groups.h"

namespace sheaf {
namespace {

// In ascending order; empty if the system does not tell.
std::vector<int> affinity() {
  constexpr int kMostCpus = 1 << 16;  // the system refuses a mask that is too short
  for (int cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<size_t>(cpus)),
                                                         [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (!set || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> out;
    for (int cpu = 0; cpu < cpus; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set.get())) out.push_back(cpu);
    return out;
  }
  return {};
}

std::string siblings(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string list;
  std::getline(file, list);
  return list;
}

// Allowed CPU time, in cores; infinite without a limit.
double quota() {
  double least = std::numeric_limits<double>::infinity();
  for_each_control_group("cpu.max", [&](std::istream& in) {
    double microseconds = 0, period = 0;  // or the word "max"
    if (in >> microseconds >> period && period > 0) least = std::min(least, microseconds / period);
  });
  return least;
}

}  // namespace

std::vector<int> cpus_of_list(std::string_view list) {
  std::vector<int> out;
  const char *at = list.data(), *end = at + list.size();
  auto number = [&](int& x) {
    auto [next, error] = std::from_chars(at, end, x);
    at = next;
    return error == std::errc();
  };
  for (int first; at < end && number(first); ++at) {
    int last = first;
    if (at < end && *at == '-' && !(++at, number(last))) break;
    for (int cpu = first; cpu <= last; ++cpu)
      out.push_back(cpu);
  }
  return out;
}

int count_cores(std::span<const int> cpus, const std::function<std::string(int cpu)>& siblings) {
  // A core is counted at the first of its CPUs in the list.
  return static_cast<int>(std::count_if(cpus.begin(), cpus.end(), [&](int cpu) {
    const std::vector<int> same_core = cpus_of_list(siblings(cpu));
    return std::none_of(same_core.begin(), same_core.end(),
                        [&](int other) { return other < cpu && std::binary_search(cpus.begin(), cpus.end(), other); });
  }));
}

int cores_allowed() {
  const std::vector<int> cpus = affinity();
  int n = cpus.empty() ? static_cast<int>(std::thread::hardware_concurrency()) : count_cores(cpus, siblings);
  if (const double time = quota(); time < n) n = static_cast<int>(std::ceil(time));
  return std::max(1, n);
}

}  // namespace sheaf

// The processor cores that this process may use.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

// The cores of the affinity mask, or fewer where control groups give the process less time; a part of a core counts as
// one. Two hardware threads of a core are one core: a second one adds little to a loop that keeps the multipliers busy.
// At least 1.
int cores_allowed();

// The numbers in a list of the system's, such as "0-3,8".
std::vector<int> cpus_of_list(std::string_view list);

// How many cores have some of the CPUs, which are in ascending order. `siblings` tells which CPUs share the core of one
// ("0,4"), or nothing where the system does not say.
int count_cores(std::span<const int> cpus, const std::function<std::string(int cpu)>& siblings);

}  // namespace sheaf

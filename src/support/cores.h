// The processor cores that this process may use.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

// The cores of the affinity mask, or fewer if control groups limit the process's time; a fraction of a core counts as
// one. Two hardware threads of a core count as one core: the second adds little to a loop that keeps the multipliers
// busy. At least 1.
int cores_allowed();

// The numbers in a list in the system's format, such as "0-3,8".
std::vector<int> cpus_of_list(std::string_view list);

// The number of cores that the CPUs (ascending) belong to. `siblings` returns the CPUs that share a core with the given
// one ("0,4"), or an empty string if the system does not tell.
int count_cores(std::span<const int> cpus, const std::function<std::string(int cpu)>& siblings);

}  // namespace sheaf

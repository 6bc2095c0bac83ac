// The peak of this machine with every thread of the pool: `gflops N` and `read_gbs N`, for the floors of
// bench/floors.py.
#include "kernels/simd/peak.h"

#include <cstdio>

#include "runtime/thread_pool.h"

int main() {
  sheaf::kernels::Peak peak = sheaf::kernels::measure_peak(sheaf::runtime::num_threads());
  std::printf("gflops %.2f\nread_gbs %.2f\n", peak.gflops, peak.read_gbs);
}

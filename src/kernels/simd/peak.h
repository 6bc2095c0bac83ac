// Measures the peak arithmetic rate and memory bandwidth of this machine, the reference of the profiler and benchmarks.
#pragma once

namespace sheaf::kernels {

struct Peak {
  double gflops = 0;    // f32 fused multiply-adds in registers, counted as two
  double read_gbs = 0;  // reading memory that no cache holds
};

// Measures with `threads` threads (at most those of the pool). Takes some 100 ms; each figure is the best of several
// attempts, since other programs can only slow it down.
Peak measure_peak(int threads);
double measure_gflops(int threads);  // only this one: a few milliseconds
double measure_read_gbs(int threads);

}  // namespace sheaf::kernels

#include "kernels/simd/peak.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "kernels/simd/simd.h"
#include "runtime/thread_pool.h"
#include "tensor/tensor.h"

namespace sheaf::kernels {
namespace block {
namespace {

template <class T>
struct Kernels {
  int64_t multiplies;  // of one round
  T (*multiply)(int64_t rounds);
  std::array<T (*)(const T* p, int64_t n), 2> read;
};

#define SHEAF_KERNELS "kernels/simd/peak_code.h"
#include "kernels/simd/instruction_sets.h"

constexpr int64_t kRounds = 6'000;
constexpr int64_t kBytes = 256 << 20;  // large: a last-level cache of 32 MB would still hold part of 128 MB
constexpr int kAttempts = 8;

std::atomic<float> g_sink{0};  // keeps the compiler from removing the computation

// Seconds that `threads` threads take for all parts: the best of several attempts.
template <class F>
double seconds(int threads, int64_t parts, F part) {
  const int before = runtime::num_threads();
  runtime::set_num_threads(threads);
  double best = 1e9;
  for (int i = 0; i < kAttempts; ++i) {
    auto start = std::chrono::steady_clock::now();
    runtime::parallel_for(
        parts,
        [&](int64_t begin, int64_t end) {
          for (int64_t t = begin; t < end; ++t)
            g_sink.store(part(t), std::memory_order_relaxed);
        },
        1);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  runtime::set_num_threads(before);
  return best;
}

int at_most(int threads) { return std::clamp(threads, 1, runtime::num_threads()); }

}  // namespace
}  // namespace block

double measure_gflops(int threads) {
  using namespace block;
  const Kernels<float>& k = kernels<float>();
  threads = at_most(threads);
  // Several parts for each thread, since some threads may share a core.
  const int64_t parts = 16 * threads;
  return static_cast<double>(2 * k.multiplies * kRounds * parts) /
         seconds(threads, parts, [&](int64_t) { return k.multiply(kRounds); }) * 1e-9;
}

double measure_read_gbs(int threads) {
  using namespace block;
  threads = at_most(threads);
  Ref<Buffer> memory = Buffer::allocate(kBytes);
  float* data = reinterpret_cast<float*>(memory->host_mut());
  const int64_t each = kBytes / static_cast<int64_t>(sizeof(float)) / threads;
  std::fill(data, data + each * threads, 1.0f);
  double best = 0;
  for (auto read : kernels<float>().read)
    best = std::max(best, static_cast<double>(kBytes) /
                              seconds(threads, threads, [&](int64_t t) { return read(data + t * each, each); }) * 1e-9);
  return best;
}

Peak measure_peak(int threads) { return {measure_gflops(threads), measure_read_gbs(threads)}; }

}  // namespace sheaf::kernels

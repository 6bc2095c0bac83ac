// Which algorithm is the fastest for a product, found by timing them (--max-autotune). All give the same bits, so a
// measurement can change speed alone. The first algorithm is the default, and another must beat it twice: among all,
// and again in alternation with it. Thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/thread_pool.h"
#include "tensor/dtype.h"

namespace sheaf::kernels {

struct TunedWork {
  std::string work;
  struct Timing {
    std::string algorithm;
    double ms;
  };
  std::vector<Timing> timings;  // the default first
  size_t chosen = 0;
  bool measured = false;  // by this process
};

// From now on algorithms are timed. `known` holds lines of earlier runs; `found` is called with each new line, to be
// kept.
void start_tuning(std::string_view known, std::function<void(const std::string& line)> found);
// All work that was done since, in the order in which it was met.
std::vector<TunedWork> tuned_work();

bool tuning();
// While one lives, its thread takes the default algorithms: where sizes are data, each new one would be measured.
class WithoutTuning {
 public:
  WithoutTuning();
  ~WithoutTuning();
  WithoutTuning(const WithoutTuning&) = delete;
  WithoutTuning& operator=(const WithoutTuning&) = delete;
};
// For tests: the algorithm of this name wherever it works, without measuring; empty for none.
void force_algorithm(std::string_view name);

// A product of matrices [m, k] and [k, n] with their strides.
struct GemmKey {
  DType dtype;
  int64_t m, n, k, a_minor, a_k, b_minor, b_k;
  friend bool operator==(const GemmKey&, const GemmKey&) = default;
};
// The index of the fastest among `algorithms`. run(i) runs the whole product by number i.
size_t fastest_algorithm(const GemmKey& work, std::span<const std::string_view> algorithms,
                         runtime::function_ref<void(size_t)> run);

}  // namespace sheaf::kernels

// Finds the fastest algorithm for a product by timing them (--max-autotune). All algorithms give the same bits, so a
// measurement can change only the speed. The first algorithm is the default, and another must beat it twice: in a run
// of all algorithms, and again in alternation with the default. Thread-safe.
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

// Enables tuning. `known` holds the result lines of earlier runs; `found` is called with each new line, so that the
// caller can store it.
void start_tuning(std::string_view known, std::function<void(const std::string& line)> found);
// All products tuned since then, in the order of their first use.
std::vector<TunedWork> tuned_work();

bool tuning();
// RAII: while one lives, its thread uses the default algorithms. For products whose sizes are data: each new size would
// be measured.
class WithoutTuning {
 public:
  WithoutTuning();
  ~WithoutTuning();
  WithoutTuning(const WithoutTuning&) = delete;
  WithoutTuning& operator=(const WithoutTuning&) = delete;
};
// For tests: forces the algorithm of this name wherever it works, without measuring; empty: none.
void force_algorithm(std::string_view name);

// A product of matrices [m, k] and [k, n] with their strides.
struct GemmKey {
  DType dtype;
  int64_t m, n, k, a_minor, a_k, b_minor, b_k;
  friend bool operator==(const GemmKey&, const GemmKey&) = default;
};
// The index of the fastest of `algorithms`. run(i) runs the whole product with algorithm i.
size_t fastest_algorithm(const GemmKey& work, std::span<const std::string_view> algorithms,
                         runtime::function_ref<void(size_t)> run);

}  // namespace sheaf::kernels

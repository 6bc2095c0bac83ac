// Which of several ways is the fastest for a piece of work, found by trying them (--max-autotune). All ways give the
// same bits, so what is measured can change the speed alone. The first way is the usual one, and another must beat it
// twice: among all, and again in turns with it.
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
  struct Way {
    std::string name;
    double ms;
  };
  std::vector<Way> ways;  // the usual one first
  size_t chosen = 0;
  bool measured = false;  // by this process
};

// From now on ways are measured. `known` holds lines of earlier runs; `found` is told each new one, to be kept.
void start_tuning(std::string_view known, std::function<void(const std::string& line)> found);
// All work that was done since, in the order in which it was met.
std::vector<TunedWork> tuned_work();

bool tuning();
// While one lives, its thread takes the usual ways: where sizes are data, each new one would be measured.
class UsualWays {
 public:
  UsualWays();
  ~UsualWays();
  UsualWays(const UsualWays&) = delete;
  UsualWays& operator=(const UsualWays&) = delete;
};
// For tests: the way of this name wherever it is among the ways, without measuring; empty for none.
void set_only_way(std::string_view name);

// A product of matrices [m, k] and [k, n] with their strides.
struct ProductWork {
  DType dtype;
  int64_t m, n, k, a_minor, a_k, b_minor, b_k;
  friend bool operator==(const ProductWork&, const ProductWork&) = default;
};
// The place among `ways` of the fastest. run(i) does the whole work that way.
size_t fastest_way(const ProductWork& work, std::span<const std::string_view> ways,
                   runtime::function_ref<void(size_t)> run);

}  // namespace sheaf::kernels

#include "kernels/linalg/steps.h"
#include "kernels/simd/simd.h"

namespace sheaf::kernels {
namespace {

using routines::kPoleSums;
using routines::Plain;
using routines::PoleSums;
using routines::total_of;
using routines::Turn;

template <class T>
struct Kernels {
  PoleSums (*pole_sums)(const T* z, const T* poles, int64_t n, T x);
  void (*turn_rows)(T* rows, int64_t step, int64_t columns, const Turn* turns, int64_t count);
};

#define SHEAF_KERNELS "kernels/linalg/divide_code.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

PoleSums Fast::pole_sums(const double* z, const double* poles, int64_t n, double x) {
  return kernels<double>().pole_sums(z, poles, n, x);
}
void Fast::turn_rows(double* rows, int64_t step, int64_t columns, const Turn* turns, int64_t count) {
  kernels<double>().turn_rows(rows, step, columns, turns, count);
}

}  // namespace sheaf::kernels

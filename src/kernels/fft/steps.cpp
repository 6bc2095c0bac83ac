#include "kernels/fft/steps.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/simd/simd.h"

namespace sheaf::kernels {
namespace {

template <class T>
using Kernels = FftSteps<T>;
#define SHEAF_KERNELS "kernels/fft/step_code.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

template <class T>
const FftSteps<T>& fft_steps() {
  return kernels<T>();
}

template const FftSteps<float>& fft_steps();
template const FftSteps<double>& fft_steps();

}  // namespace sheaf::kernels

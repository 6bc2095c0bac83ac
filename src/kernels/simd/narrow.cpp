#include "kernels/simd/narrow.h"

#include "kernels/simd/simd.h"

namespace sheaf::kernels {
namespace {

using scalar::BFloat16;
using scalar::Float16;

template <class T>
struct Kernels {
  void (*to_bf16)(BFloat16* to, const T* from, int64_t n);
  void (*to_f16)(Float16* to, const T* from, int64_t n);
  void (*from_f16)(T* to, const Float16* from, int64_t n);
};
#define SHEAF_KERNELS "kernels/simd/narrow_code.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

void narrow(BFloat16* to, const float* from, int64_t n) { kernels<float>().to_bf16(to, from, n); }
void narrow(Float16* to, const float* from, int64_t n) { kernels<float>().to_f16(to, from, n); }
void widen(float* to, const Float16* from, int64_t n) { kernels<float>().from_f16(to, from, n); }

}  // namespace sheaf::kernels

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
  void (*from_bf16)(int64_t rows, int64_t n, const BFloat16* from, int64_t from_row, T* to, int64_t to_row);
  void (*from_f16)(int64_t rows, int64_t n, const Float16* from, int64_t from_row, T* to, int64_t to_row);
};
#define SHEAF_KERNELS "kernels/simd/narrow_code.h"
#include "kernels/simd/instruction_sets.h"

}  // namespace

void narrow(BFloat16* to, const float* from, int64_t n) { kernels<float>().to_bf16(to, from, n); }
void narrow(Float16* to, const float* from, int64_t n) { kernels<float>().to_f16(to, from, n); }
void widen_rows(int64_t rows, int64_t n, const BFloat16* from, int64_t from_row, float* to, int64_t to_row) {
  kernels<float>().from_bf16(rows, n, from, from_row, to, to_row);
}
void widen_rows(int64_t rows, int64_t n, const Float16* from, int64_t from_row, float* to, int64_t to_row) {
  kernels<float>().from_f16(rows, n, from, from_row, to, to_row);
}

}  // namespace sheaf::kernels

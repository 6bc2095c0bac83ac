// Compiles the kernels of the file named by SHEAF_KERNELS for each instruction set of the target; kernels<T>() selects
// one at run time. To be included once per .cpp with such kernels, inside its own namespace. The file defines
// kKernels<T> of a type Kernels<T>, in terms of Simd<T> (simd.h).
#if defined(__aarch64__)
namespace for_neon {
using sheaf::kernels::neon::Simd;
#include SHEAF_KERNELS
}  // namespace for_neon
template <class T>
const Kernels<T>& kernels() {
  return for_neon::kKernels<T>;
}
#else
namespace for_any {
using sheaf::kernels::portable::Simd;
#include SHEAF_KERNELS
}  // namespace for_any
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
namespace for_avx2 {
using sheaf::kernels::avx2::Simd;
#include SHEAF_KERNELS
}  // namespace for_avx2
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma,f16c")
#endif
namespace for_avx512 {
using sheaf::kernels::avx512::Simd;
#include SHEAF_KERNELS
}  // namespace for_avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
template <class T>
const Kernels<T>& kernels() {
#if defined(__x86_64__)
  static const bool has_fma =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  static const bool has_avx512 = has_fma && __builtin_cpu_supports("avx512f");
  if (has_avx512) return for_avx512::kKernels<T>;
  if (has_fma) return for_avx2::kKernels<T>;
#endif
  return for_any::kKernels<T>;
}
#endif
#undef SHEAF_KERNELS

// Opens a region of code that is compiled for bf16 dot-product instructions; included once per .cpp with such code.
// bf16_dot_end.h closes it.
#if defined(__aarch64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")
#endif
#elif defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bf16,avx512bw,avx512f,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512bf16,avx512bw,avx512f,avx2,fma,f16c")
#endif
#endif

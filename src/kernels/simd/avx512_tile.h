// Register tiles for AVX-512, 14 rows by two vectors, in assembly: included by avx.h. Compilers reload addresses and
// spill accumulators in these loops; two of the four instructions that a core issues per cycle must be multiply-adds.
// Three kinds of prefetches are spread over the iterations, so that nothing waits for them:
// - B, eight k ahead, to L1, which cannot hold a panel of B;
// - C, two lines of a row in each of the first iterations;
// - the lines of `line`, to L2, once every two k: once every k delays everything else.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
namespace sheaf::kernels::avx512 {

// Registers: zmm0 to zmm27 hold the sums, two for each row, zmm28 and zmm29 a row of b, zmm30 and zmm31 alternately an
// element of a. In the macros, `t` is the suffix of an instruction (s, d), `size` the bytes of an element, `step` one
// of the four k of an iteration (TURN). A kind of operands (PACKED, ROWS) defines how a and b are addressed. _A(size,
// step, row): an element of a. _B(at, step): a row of b, from its byte `at` on. _SOON(at, step): prefetches the same,
// eight k ahead. _NEXT: after each step. _TURN(size): after each iteration. _REST(size): after a remainder step.
// clang-format off: it wraps these macros differently each time
#define SHEAF_PACKED_A(size, step, row) #size "*(14*" #step "+" #row ")(%[a])"
#define SHEAF_PACKED_B(at, step) #at "+128*" #step "(%[b])"
#define SHEAF_PACKED_SOON(at, step) "prefetcht0 1024+" #at "+128*" #step "(%[b])\n"
#define SHEAF_PACKED_NEXT
#define SHEAF_PACKED_TURN(size) "add $4*14*" #size ", %[a]\n add $4*128, %[b]\n"
#define SHEAF_PACKED_REST(size) "add $14*" #size ", %[a]\n add $128, %[b]\n"

#define SHEAF_ROWS_A(size, step, row) SHEAF_A_##row(#size "*" #step)
#define SHEAF_A_0(at) at "(%[a])"
#define SHEAF_A_1(at) at "(%[a], %[lda])"
#define SHEAF_A_2(at) at "(%[a], %[lda], 2)"
#define SHEAF_A_3(at) at "(%[a], %[lda3])"
#define SHEAF_A_4(at) at "(%[a], %[lda], 4)"
#define SHEAF_A_5(at) at "(%[a5])"
#define SHEAF_A_6(at) at "(%[a5], %[lda])"
#define SHEAF_A_7(at) at "(%[a5], %[lda], 2)"
#define SHEAF_A_8(at) at "(%[a5], %[lda3])"
#define SHEAF_A_9(at) at "(%[a5], %[lda], 4)"
#define SHEAF_A_10(at) at "(%[a10])"
#define SHEAF_A_11(at) at "(%[a10], %[lda])"
#define SHEAF_A_12(at) at "(%[a10], %[lda], 2)"
#define SHEAF_A_13(at) at "(%[a10], %[lda3])"
#define SHEAF_ROWS_B(at, step) #at "(%[b])"
#define SHEAF_ROWS_SOON(at, step) "prefetcht0 " #at "(%[b], %[ldb], 8)\n"
#define SHEAF_ROWS_NEXT "add %[ldb], %[b]\n"
#define SHEAF_ROWS_TURN(size) "add $4*" #size ", %[a]\n add $4*" #size ", %[a5]\n add $4*" #size ", %[a10]\n"
#define SHEAF_ROWS_REST(size) "add $" #size ", %[a]\n add $" #size ", %[a5]\n add $" #size ", %[a10]\n"

#define SHEAF_ROW(t, address, x, sum0, sum1)                                                                          \
  "vbroadcasts" #t " " address ", %%zmm" #x "\n"                                                                      \
  "vfmadd231p" #t " %%zmm28, %%zmm" #x ", %%zmm" #sum0 "\n"                                                           \
  "vfmadd231p" #t " %%zmm29, %%zmm" #x ", %%zmm" #sum1 "\n"
#define SHEAF_STEP(t, size, kind, step)                                                                               \
  "vmovups " SHEAF_##kind##_B(0, step) ", %%zmm28\n vmovups " SHEAF_##kind##_B(64, step) ", %%zmm29\n"                \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 0), 30, 0, 1) SHEAF_##kind##_SOON(0, step)                                \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 1), 31, 2, 3)                                                             \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 2), 30, 4, 5)                                                             \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 3), 31, 6, 7)                                                             \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 4), 30, 8, 9)                                                             \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 5), 31, 10, 11)                                                           \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 6), 30, 12, 13) SHEAF_##kind##_SOON(64, step)                             \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 7), 31, 14, 15)                                                           \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 8), 30, 16, 17)                                                           \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 9), 31, 18, 19)                                                           \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 10), 30, 20, 21)                                                          \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 11), 31, 22, 23)                                                          \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 12), 30, 24, 25)                                                          \
  SHEAF_ROW(t, SHEAF_##kind##_A(size, step, 13), 31, 26, 27) SHEAF_##kind##_NEXT
// One iteration of four k; `c0` and `c1` are additional instructions.
#define SHEAF_TURN(t, size, kind, c0, c1)                                                                             \
  SHEAF_STEP(t, size, kind, 0) "prefetcht1 (%[line])\n"                                                               \
  SHEAF_STEP(t, size, kind, 1) c0                                                                                     \
  SHEAF_STEP(t, size, kind, 2) "prefetcht1 (%[line], %[step])\n add %[period], %[line]\n"                             \
  SHEAF_STEP(t, size, kind, 3) c1 SHEAF_##kind##_TURN(size)
#define SHEAF_EACH_ROW(what, t)                                                                                       \
  what(t, 0, 1) what(t, 2, 3) what(t, 4, 5) what(t, 6, 7) what(t, 8, 9) what(t, 10, 11) what(t, 12, 13)               \
  what(t, 14, 15) what(t, 16, 17) what(t, 18, 19) what(t, 20, 21) what(t, 22, 23) what(t, 24, 25) what(t, 26, 27)
#define SHEAF_ZERO_ROW(t, sum0, sum1)                                                                                 \
  "vpxord %%zmm" #sum0 ", %%zmm" #sum0 ", %%zmm" #sum0 "\n vpxord %%zmm" #sum1 ", %%zmm" #sum1 ", %%zmm" #sum1 "\n"
#define SHEAF_STORE(sum0, sum1)                                                                                       \
  "vmovups %%zmm" #sum0 ", (%[c])\n vmovups %%zmm" #sum1 ", 64(%[c])\n add %[ldc], %[c]\n"
#define SHEAF_ADD_ROW(t, sum0, sum1)                                                                                  \
  "vaddp" #t " (%[c]), %%zmm" #sum0 ", %%zmm" #sum0 "\n"                                                              \
  "vaddp" #t " 64(%[c]), %%zmm" #sum1 ", %%zmm" #sum1 "\n" SHEAF_STORE(sum0, sum1)
#define SHEAF_STORE_ROW(t, sum0, sum1)                                                                                \
  "vaddp" #t " %%zmm28, %%zmm" #sum0 ", %%zmm" #sum0 "\n"                                                             \
  "vaddp" #t " %%zmm28, %%zmm" #sum1 ", %%zmm" #sum1 "\n" SHEAF_STORE(sum0, sum1)
// Iterations that prefetch C, other iterations, the remaining k; then stores or adds to C. Stores add to +0, so that -0
// becomes +0.
#define SHEAF_TILE(t, size, kind, ...)                                                                                \
  asm volatile(SHEAF_EACH_ROW(SHEAF_ZERO_ROW, t)                                                                      \
      "mov %[first], %[count]\n test %[count], %[count]\n jz 2f\n .p2align 5\n 1:\n"                                  \
      SHEAF_TURN(t, size, kind, "prefetchw (%[c])\n", "prefetchw 124(%[c])\n add %[ldc], %[c]\n")                     \
      "dec %[count]\n jnz 1b\n"                                                                                       \
      "2:\n mov %[others], %[count]\n test %[count], %[count]\n jz 4f\n .p2align 5\n 3:\n"                            \
      SHEAF_TURN(t, size, kind, , ) "dec %[count]\n jnz 3b\n"                                                         \
      "4:\n mov %[rest], %[count]\n test %[count], %[count]\n jz 6f\n 5:\n"                                           \
      SHEAF_STEP(t, size, kind, 0) SHEAF_##kind##_REST(size) "dec %[count]\n jnz 5b\n"                                \
      "6:\n mov %[to], %[c]\n cmpq $0, %[adding]\n je 7f\n" SHEAF_EACH_ROW(SHEAF_ADD_ROW, t) "jmp 8f\n"               \
      "7:\n" SHEAF_ZERO_ROW(t, 28, 29) SHEAF_EACH_ROW(SHEAF_STORE_ROW, t) "8:\n vzeroupper\n"                         \
      : [a] "+&r"(a), [b] "+&r"(b), [line] "+&r"(line), [c] "+&r"(c), [count] "=&r"(count) SHEAF_OUTPUTS_##kind       \
      : [ldc] "r"(ldc), [step] "r"(step), [period] "r"(period), [to] "m"(to),                                         \
        [first] "m"(first), [others] "m"(others), [rest] "m"(rest), [adding] "m"(adding) __VA_ARGS__                  \
      : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",      \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21",            \
        "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31")
#define SHEAF_OUTPUTS_PACKED
#define SHEAF_OUTPUTS_ROWS , [a5] "+&r"(a5), [a10] "+&r"(a10)
// clang-format on

// Common part of the two functions below. They store to c, or add to it, the sum of k outer products of a column of a
// and a row of b. Every two k they prefetch `line`, which advances by `step` and `period - step` alternately. Strides
// are in elements.
#define SHEAF_TILE_VARIABLES           \
  constexpr int64_t kSize = sizeof(T); \
  ldc *= kSize;                        \
  T* const to = c;                     \
  int64_t count;                       \
  const int64_t turns = k / 4, rest = k % 4, first = turns < 14 ? turns : 14, others = turns - first, adding = add

// a is [k][14], b is [k][two vectors].
template <class T>
inline void packed_tile(int64_t k, const T* a, const T* b, T* c, int64_t ldc, bool add, const std::byte* line,
                        int64_t step, int64_t period) {
  SHEAF_TILE_VARIABLES;
  if constexpr (kSize == 4)
    SHEAF_TILE(s, 4, PACKED);
  else
    SHEAF_TILE(d, 8, PACKED);
}

// Rows of a and of b are lda and ldb apart.
template <class T>
inline void row_tile(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, bool add,
                     const std::byte* line, int64_t step, int64_t period) {
  SHEAF_TILE_VARIABLES;
  const T *a5 = a + 5 * lda, *a10 = a + 10 * lda;
  lda *= kSize, ldb *= kSize;
  const int64_t lda3 = 3 * lda;
  if constexpr (kSize == 4)
    SHEAF_TILE(s, 4, ROWS, , [lda] "r"(lda), [lda3] "r"(lda3), [ldb] "r"(ldb));
  else
    SHEAF_TILE(d, 8, ROWS, , [lda] "r"(lda), [lda3] "r"(lda3), [ldb] "r"(ldb));
}

}  // namespace sheaf::kernels::avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#undef SHEAF_TILE_VARIABLES
#undef SHEAF_OUTPUTS_ROWS
#undef SHEAF_OUTPUTS_PACKED
#undef SHEAF_TILE
#undef SHEAF_STORE_ROW
#undef SHEAF_ADD_ROW
#undef SHEAF_STORE
#undef SHEAF_ZERO_ROW
#undef SHEAF_EACH_ROW
#undef SHEAF_TURN
#undef SHEAF_STEP
#undef SHEAF_ROW
#undef SHEAF_ROWS_REST
#undef SHEAF_ROWS_TURN
#undef SHEAF_ROWS_NEXT
#undef SHEAF_ROWS_SOON
#undef SHEAF_ROWS_B
#undef SHEAF_A_13
#undef SHEAF_A_12
#undef SHEAF_A_11
#undef SHEAF_A_10
#undef SHEAF_A_9
#undef SHEAF_A_8
#undef SHEAF_A_7
#undef SHEAF_A_6
#undef SHEAF_A_5
#undef SHEAF_A_4
#undef SHEAF_A_3
#undef SHEAF_A_2
#undef SHEAF_A_1
#undef SHEAF_A_0
#undef SHEAF_ROWS_A
#undef SHEAF_PACKED_REST
#undef SHEAF_PACKED_TURN
#undef SHEAF_PACKED_NEXT
#undef SHEAF_PACKED_SOON
#undef SHEAF_PACKED_B
#undef SHEAF_PACKED_A

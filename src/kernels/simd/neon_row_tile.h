// The f32 register tiles for AArch64 that read rows of a in place, 8 rows by 8 columns, in assembly: included by
// neon.h. neon_tile.h explains the reason and the instruction order. The first of several tiles side by side can copy
// its rows for the others: four k of each row in turn, and the remaining k one by one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sheaf::kernels::neon {

// Registers: v0 to v3 and v12 to v15 alternately hold four k of the first four rows of a, v4 to v7 those of the others,
// v8 and v9, v10 and v11 alternately a row of b, v16 to v31 the sums, two for each row.
#define SHEAF_FMA(sum, y, x, lane) "fmla v" #sum ".4s, v" #y ".4s, v" #x ".s[" #lane "]\n"
#define SHEAF_ROW(sum0, sum1, y0, y1, x, lane) SHEAF_FMA(sum0, y0, x, lane) SHEAF_FMA(sum1, y1, x, lane)
#define SHEAF_ROWS_0_1(y0, y1, x0, x1, lane) SHEAF_ROW(16, 17, y0, y1, x0, lane) SHEAF_ROW(18, 19, y0, y1, x1, lane)
#define SHEAF_ROWS_2_3(y0, y1, x2, x3, lane) SHEAF_ROW(20, 21, y0, y1, x2, lane) SHEAF_ROW(22, 23, y0, y1, x3, lane)
#define SHEAF_ROWS_4_5(y0, y1, lane) SHEAF_ROW(24, 25, y0, y1, 4, lane) SHEAF_ROW(26, 27, y0, y1, 5, lane)
#define SHEAF_ROWS_6_7(y0, y1, lane) SHEAF_ROW(28, 29, y0, y1, 6, lane) SHEAF_ROW(30, 31, y0, y1, 7, lane)
#define SHEAF_LOAD_B(q0, q1) "ldp q" #q0 ", q" #q1 ", [%[b]]\n add %[b], %[b], %[ldb]\n"
// Four k of two rows of a: READ loads them in place, LEAVE also writes a copy for the other tiles, TAKE loads that
// copy.
#define SHEAF_READ(q0, q1, row0, row1, at) "ldr q" #q0 ", [%[r" #row0 "]], #16\n ldr q" #q1 ", [%[r" #row1 "]], #16\n"
#define SHEAF_LEAVE(q0, q1, row0, row1, at) \
  SHEAF_READ(q0, q1, row0, row1, at) "stp q" #q0 ", q" #q1 ", [%[left], #" #at "]\n"
#define SHEAF_TAKE(q0, q1, row0, row1, at) "ldp q" #q0 ", q" #q1 ", [%[left], #" #at "]\n"
// One k; loads operands of the next ones.
#define SHEAF_STEP(y0, y1, x0, x1, x2, x3, lane, next_b, one, two)                 \
  SHEAF_ROWS_0_1(y0, y1, x0, x1, lane) next_b SHEAF_ROWS_2_3(y0, y1, x2, x3, lane) \
  one SHEAF_ROWS_4_5(y0, y1, lane)                                                 \
  two SHEAF_ROWS_6_7(y0, y1, lane)
// Four k; x0 to x3 are the registers of the first four rows, n0 to n3 those for the next four k.
#define SHEAF_FOUR(get, x0, x1, x2, x3, n0, n1, n2, n3, one, two, three)                              \
  SHEAF_STEP(8, 9, x0, x1, x2, x3, 0, SHEAF_LOAD_B(10, 11), get(n0, n1, 0, 1, 0), )                   \
  SHEAF_STEP(10, 11, x0, x1, x2, x3, 1, SHEAF_LOAD_B(8, 9), get(n2, n3, 2, 3, 32), )                  \
  SHEAF_STEP(8, 9, x0, x1, x2, x3, 2, SHEAF_LOAD_B(10, 11), one, two)                                 \
  SHEAF_ROWS_4_5(10, 11, 3)                                                                           \
  get(4, 5, 4, 5, 64) SHEAF_ROWS_6_7(10, 11, 3) get(6, 7, 6, 7, 96) SHEAF_ROWS_0_1(10, 11, x0, x1, 3) \
      SHEAF_LOAD_B(8, 9) three SHEAF_ROWS_2_3(10, 11, x2, x3, 3)
#define SHEAF_LAST_FOUR(x0, x1, x2, x3)                         \
  SHEAF_STEP(8, 9, x0, x1, x2, x3, 0, SHEAF_LOAD_B(10, 11), , ) \
  SHEAF_STEP(10, 11, x0, x1, x2, x3, 1, SHEAF_LOAD_B(8, 9), , ) \
  SHEAF_STEP(8, 9, x0, x1, x2, x3, 2, SHEAF_LOAD_B(10, 11), , ) SHEAF_STEP(10, 11, x0, x1, x2, x3, 3, , , )
// One k of all rows, in the same three variants.
#define SHEAF_READ_ONE(q) "ldr s" #q ", [%[r" #q "]], #4\n"
#define SHEAF_LEAVE_ONE(q) SHEAF_READ_ONE(q) "str s" #q ", [%[left]], #4\n"
#define SHEAF_TAKE_ONE(q) "ldr s" #q ", [%[left]], #4\n"
#define SHEAF_EACH_ONE(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)
#define SHEAF_STORE_ROW(s0, s1)                                                                       \
  "fadd v" #s0 ".4s, v" #s0 ".4s, v0.4s\n fadd v" #s1 ".4s, v" #s1 ".4s, v0.4s\n stp q" #s0 ", q" #s1 \
  ", [%[to]]\n add %[to], %[to], %[ldc]\n"
#define SHEAF_ADD_ROW(s0, s1)                                                                                     \
  "ldp q0, q1, [%[to]]\n fadd v" #s0 ".4s, v" #s0 ".4s, v0.4s\n fadd v" #s1 ".4s, v" #s1 ".4s, v1.4s\n stp q" #s0 \
  ", q" #s1                                                                                                       \
  ", [%[to]]\n"                                                                                                   \
  "add %[to], %[to], %[ldc]\n"
#define SHEAF_EACH_SUM(what) \
  what(16, 17) what(18, 19) what(20, 21) what(22, 23) what(24, 25) what(26, 27) what(28, 29) what(30, 31)

// The whole tile. `get` and `get_one` load a, `next` advances in the copy, `near` prefetches further lines of the rows.
// clang-format off: one line for each part of the loop
#define SHEAF_TILE(begin, get, get_one, next, near)                                                             \
  "movi v16.4s, #0\n movi v17.4s, #0\n movi v18.4s, #0\n movi v19.4s, #0\n movi v20.4s, #0\n movi v21.4s, #0\n" \
  "movi v22.4s, #0\n movi v23.4s, #0\n movi v24.4s, #0\n movi v25.4s, #0\n movi v26.4s, #0\n movi v27.4s, #0\n" \
  "movi v28.4s, #0\n movi v29.4s, #0\n movi v30.4s, #0\n movi v31.4s, #0\n"                                     \
  begin                                                                                                         \
  "cbz %[fours], 4f\n"                                                                                          \
  get(0, 1, 0, 1, 0) get(2, 3, 2, 3, 32) get(4, 5, 4, 5, 64) get(6, 7, 6, 7, 96) next SHEAF_LOAD_B(8, 9)        \
  "subs %[fours], %[fours], #2\n b.le 2f\n .p2align 5\n 1:\n"                                                   \
  SHEAF_FOUR(get, 0, 1, 2, 3, 12, 13, 14, 15, SHEAF_PREFETCH("[%[line]]"), "subs %[fours], %[fours], #2\n",     \
             next near)                                                                                         \
  SHEAF_FOUR(get, 12, 13, 14, 15, 0, 1, 2, 3, SHEAF_PREFETCH("[%[line], %[step]]"),                             \
             "add %[line], %[line], %[period]\n", next)                                                         \
  "b.gt 1b\n 2:\n b.ne 3f\n"                                                                                    \
  SHEAF_FOUR(get, 0, 1, 2, 3, 12, 13, 14, 15, SHEAF_PREFETCH("[%[line]]"), , next)                              \
  SHEAF_LAST_FOUR(12, 13, 14, 15) "b 4f\n 3:\n" SHEAF_LAST_FOUR(0, 1, 2, 3)                                     \
  "4:\n cbz %[rest], 6f\n 5:\n"                                                                                 \
  SHEAF_EACH_ONE(get_one) SHEAF_LOAD_B(8, 9) SHEAF_STEP(8, 9, 0, 1, 2, 3, 0, , , )                              \
  "subs %[rest], %[rest], #1\n b.ne 5b\n 6:\n"                                                                  \
  "cbnz %[adding], 7f\n movi v0.4s, #0\n" SHEAF_EACH_SUM(SHEAF_STORE_ROW)                                       \
  "b 8f\n 7:\n" SHEAF_EACH_SUM(SHEAF_ADD_ROW) "8:\n"
// clang-format on
#define SHEAF_ROW_POINTERS                                                                                           \
  "add %[r1], %[r0], %[lda]\n add %[r2], %[r1], %[lda]\n add %[r3], %[r2], %[lda]\n add %[r4], %[r3], %[lda]\n add " \
  "%[r5], %[r4], %[lda]\n"                                                                                           \
  "add %[r6], %[r5], %[lda]\n add %[r7], %[r6], %[lda]\n"
#define SHEAF_NEXT "add %[left], %[left], #128\n"
#define SHEAF_CLOBBERED                                                                                               \
  "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",      \
      "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", \
      "v31"

// Stores to `to`, or adds to it, the product of rows of a, lda apart, with k rows of b, ldb apart; strides are in
// bytes. Every four k but the last, it prefetches `line`, which advances by `step` and `period - step` alternately.
#define SHEAF_PREFETCH(at) "prfm pldl1keep, " at "\n"
inline void row_tile_8x8(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* to, int64_t ldc,
                         bool add, const std::byte* line, int64_t step, int64_t period) {
  int64_t adding = add, fours = k / 4, rest = k % 4;
  const float *r1, *r2, *r3, *r4, *r5, *r6, *r7;
  asm volatile(
      SHEAF_TILE(SHEAF_ROW_POINTERS, SHEAF_READ, SHEAF_READ_ONE, , )
      : [fours] "+&r"(fours), [rest] "+&r"(rest), [b] "+&r"(b), [to] "+&r"(to), [line] "+&r"(line), [r0] "+&r"(a),
        [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [r4] "=&r"(r4), [r5] "=&r"(r5), [r6] "=&r"(r6), [r7] "=&r"(r7)
      : [lda] "r"(lda), [ldb] "r"(ldb), [ldc] "r"(ldc), [adding] "r"(adding), [step] "r"(step), [period] "r"(period)
      : SHEAF_CLOBBERED);
}
#undef SHEAF_PREFETCH

// The first of several tiles: copies its rows, 8 k elements. Prefetches to L2, since the lines are read only once.
#define SHEAF_PREFETCH(at) "prfm pldl2keep, " at "\n"
#define SHEAF_NEAR                                                                                                   \
  "prfm pldl1keep, [%[r0], #256]\n prfm pldl1keep, [%[r1], #256]\n prfm pldl1keep, [%[r2], #256]\n prfm pldl1keep, " \
  "[%[r3], #256]\n"                                                                                                  \
  "prfm pldl1keep, [%[r4], #256]\n prfm pldl1keep, [%[r5], #256]\n prfm pldl1keep, [%[r6], #256]\n prfm pldl1keep, " \
  "[%[r7], #256]\n"
inline void leaving_row_tile_8x8(int64_t k, const float* a, int64_t lda, float* left, const float* b, int64_t ldb,
                                 float* to, int64_t ldc, bool add, const std::byte* line, int64_t step,
                                 int64_t period) {
  int64_t adding = add, fours = k / 4, rest = k % 4;
  const float *r1, *r2, *r3, *r4, *r5, *r6, *r7;
  asm volatile(
      SHEAF_TILE(SHEAF_ROW_POINTERS, SHEAF_LEAVE, SHEAF_LEAVE_ONE, SHEAF_NEXT, SHEAF_NEAR)
      : [fours] "+&r"(fours), [rest] "+&r"(rest), [b] "+&r"(b), [to] "+&r"(to), [line] "+&r"(line), [left] "+&r"(left),
        [r0] "+&r"(a), [r1] "=&r"(r1), [r2] "=&r"(r2), [r3] "=&r"(r3), [r4] "=&r"(r4), [r5] "=&r"(r5), [r6] "=&r"(r6),
        [r7] "=&r"(r7)
      : [lda] "r"(lda), [ldb] "r"(ldb), [ldc] "r"(ldc), [adding] "r"(adding), [step] "r"(step), [period] "r"(period)
      : SHEAF_CLOBBERED);
}
#undef SHEAF_NEAR

// The other tiles: read the copy.
inline void taking_row_tile_8x8(int64_t k, const float* left, const float* b, int64_t ldb, float* to, int64_t ldc,
                                bool add, const std::byte* line, int64_t step, int64_t period) {
  int64_t adding = add, fours = k / 4, rest = k % 4;
  asm volatile(
      SHEAF_TILE(, SHEAF_TAKE, SHEAF_TAKE_ONE, SHEAF_NEXT, )
      : [fours] "+&r"(fours), [rest] "+&r"(rest), [b] "+&r"(b), [to] "+&r"(to), [line] "+&r"(line), [left] "+&r"(left)
      : [ldb] "r"(ldb), [ldc] "r"(ldc), [adding] "r"(adding), [step] "r"(step), [period] "r"(period)
      : SHEAF_CLOBBERED);
}

#undef SHEAF_PREFETCH
#undef SHEAF_FMA
#undef SHEAF_ROW
#undef SHEAF_ROWS_0_1
#undef SHEAF_ROWS_2_3
#undef SHEAF_ROWS_4_5
#undef SHEAF_ROWS_6_7
#undef SHEAF_LOAD_B
#undef SHEAF_READ
#undef SHEAF_LEAVE
#undef SHEAF_TAKE
#undef SHEAF_STEP
#undef SHEAF_FOUR
#undef SHEAF_LAST_FOUR
#undef SHEAF_READ_ONE
#undef SHEAF_LEAVE_ONE
#undef SHEAF_TAKE_ONE
#undef SHEAF_EACH_ONE
#undef SHEAF_STORE_ROW
#undef SHEAF_ADD_ROW
#undef SHEAF_EACH_SUM
#undef SHEAF_TILE
#undef SHEAF_ROW_POINTERS
#undef SHEAF_NEXT
#undef SHEAF_CLOBBERED

}  // namespace sheaf::kernels::neon

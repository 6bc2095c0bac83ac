// The f32 register tile for AArch64, 8 rows by 12 columns, in assembly: included by neon.h. A core with four
// multipliers fetches instructions in groups, and a group with fewer than four multiplications wastes cycles: the
// instruction orders of compilers reach 85 to 95 % of the peak. This order spreads all other instructions among the
// multiplications and reaches 99 %.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sheaf::kernels::neon {

// Registers: v0 and v1 hold a column of a, v2 to v4 and v5 to v7 alternately a row of b, v8 to v31 the sums, three for
// each row.
// clang-format off: it wraps these macros differently each time
#define SHEAF_FMA(sum, y, x, lane) "fmla v" #sum ".4s, v" #y ".4s, v" #x ".s[" #lane "]\n"
#define SHEAF_LOAD(q, from) "ldr q" #q ", [" from "]\n"
// One k; loads the operands of the next one. The last five arguments are additional instructions.
#define SHEAF_STEP(y0, y1, y2, next0, next1, next2, early, middle, late, later, last)                               \
  SHEAF_FMA(8, y0, 0, 0)                                                                                            \
  SHEAF_FMA(11, y0, 0, 1)                                                                                           \
  SHEAF_FMA(14, y0, 0, 2)                                                                                           \
  SHEAF_LOAD(next0, "%[b]")                                                                                         \
  SHEAF_FMA(17, y0, 0, 3)                                                                                           \
  SHEAF_FMA(9, y1, 0, 0) SHEAF_FMA(12, y1, 0, 1) SHEAF_FMA(15, y1, 0, 2) SHEAF_LOAD(next1, "%[b], #16")             \
      SHEAF_FMA(18, y1, 0, 3) SHEAF_FMA(10, y2, 0, 0)                                                               \
          SHEAF_FMA(13, y2, 0, 1) "add %[a], %[a], %[lda]\n" SHEAF_FMA(16, y2, 0, 2) SHEAF_LOAD(next2, "%[b], #32") \
              SHEAF_FMA(19, y2, 0, 3) SHEAF_LOAD(0, "%[a]") SHEAF_FMA(20, y0, 1, 0) SHEAF_FMA(23, y0, 1, 1)         \
                  early SHEAF_FMA(26, y0, 1, 2) middle SHEAF_FMA(29, y0, 1, 3) SHEAF_FMA(21, y1, 1, 0)              \
                      SHEAF_FMA(24, y1, 1, 1) late SHEAF_FMA(27, y1, 1, 2) SHEAF_FMA(30, y1, 1, 3)                  \
                          later SHEAF_FMA(22, y2, 1, 0)                                                             \
                              SHEAF_FMA(25, y2, 1, 1) "add %[b], %[b], %[ldb]\n" last SHEAF_FMA(28, y2, 1, 2)       \
                                  SHEAF_FMA(31, y2, 1, 3) SHEAF_LOAD(1, "%[a], #16")
#define SHEAF_STEP_ALONE                                                                                             \
  SHEAF_FMA(8, 2, 0, 0)                                                                                              \
  SHEAF_FMA(11, 2, 0, 1)                                                                                             \
  SHEAF_FMA(14, 2, 0, 2)                                                                                             \
  SHEAF_FMA(17, 2, 0, 3)                                                                                             \
  SHEAF_FMA(9, 3, 0, 0)                                                                                              \
  SHEAF_FMA(12, 3, 0, 1) SHEAF_FMA(15, 3, 0, 2) SHEAF_FMA(18, 3, 0, 3) SHEAF_FMA(10, 4, 0, 0) SHEAF_FMA(13, 4, 0, 1) \
      SHEAF_FMA(16, 4, 0, 2) SHEAF_FMA(19, 4, 0, 3) SHEAF_FMA(20, 2, 1, 0) SHEAF_FMA(23, 2, 1, 1)                    \
          SHEAF_FMA(26, 2, 1, 2) SHEAF_FMA(29, 2, 1, 3) SHEAF_FMA(21, 3, 1, 0) SHEAF_FMA(24, 3, 1, 1)                \
              SHEAF_FMA(27, 3, 1, 2) SHEAF_FMA(30, 3, 1, 3) SHEAF_FMA(22, 4, 1, 0) SHEAF_FMA(25, 4, 1, 1)            \
                  SHEAF_FMA(28, 4, 1, 2) SHEAF_FMA(31, 4, 1, 3)
#define SHEAF_OPERANDS "ldp q0, q1, [%[a]]\n ldp q2, q3, [%[b]]\n" SHEAF_LOAD(4, "%[b], #32") "add %[b], %[b], %[ldb]\n"
#define SHEAF_SUMS(what, of)                                                                                    \
  what " q8, q9, [" of "]\n" what " q10, q11, [" of ", #32]\n" what " q12, q13, [" of ", #64]\n" what           \
       " q14, q15, [" of ", #96]\n" what " q16, q17, [" of ", #128]\n" what " q18, q19, [" of ", #160]\n" what  \
       " q20, q21, [" of ", #192]\n" what " q22, q23, [" of ", #224]\n" what " q24, q25, [" of ", #256]\n" what \
       " q26, q27, [" of ", #288]\n" what " q28, q29, [" of ", #320]\n" what " q30, q31, [" of ", #352]\n"
#define SHEAF_ADD_ROW(s0, s1, s2)                                                                               \
  "ldp q0, q1, [%[to]]\n ldr q2, [%[to], #32]\n fadd v" #s0 ".4s, v" #s0 ".4s, v0.4s\n fadd v" #s1 ".4s, v" #s1 \
  ".4s, v1.4s\n"                                                                                                \
  "fadd v" #s2 ".4s, v" #s2 ".4s, v2.4s\n stp q" #s0 ", q" #s1 ", [%[to]]\n str q" #s2                          \
  ", [%[to], #32]\n add %[to], %[to], %[ldc]\n"
#define SHEAF_STORE_ROW(s0, s1, s2)                                                                       \
  "fadd v" #s0 ".4s, v" #s0 ".4s, v0.4s\n fadd v" #s1 ".4s, v" #s1 ".4s, v0.4s\n fadd v" #s2 ".4s, v" #s2 \
  ".4s, v0.4s\n"                                                                                          \
  "stp q" #s0 ", q" #s1 ", [%[to]]\n str q" #s2 ", [%[to], #32]\n add %[to], %[to], %[ldc]\n"
#define SHEAF_ROWS(what)                                                                                               \
  what(8, 9, 10) what(11, 12, 13) what(14, 15, 16) what(17, 18, 19) what(20, 21, 22) what(23, 24, 25) what(26, 27, 28) \
      what(29, 30, 31)
// Stores or adds to C; stores add to +0, so that -0 becomes +0.
#define SHEAF_FINISH \
  "cbnz %[adding], 5f\n movi v0.4s, #0\n" SHEAF_ROWS(SHEAF_STORE_ROW) "b 6f\n 5:\n" SHEAF_ROWS(SHEAF_ADD_ROW) "6:\n"
// The remainder after groups of four k, one k at a time, so that nothing is read past the end.
#define SHEAF_REST(put)                                                                                                \
  "b.gt 1b\n 2:\n adds %[k], %[k], #3\n b.eq 4f\n 3:\n" SHEAF_STEP_ALONE "add %[a], %[a], %[lda]\n" SHEAF_OPERANDS put \
  "subs %[k], %[k], #1\n b.ne 3b\n"                                                                                    \
  "4:\n" SHEAF_STEP_ALONE SHEAF_FINISH
#define SHEAF_CLOBBERED                                                                                               \
  "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",      \
      "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", \
      "v31"

#define SHEAF_ZEROS                                                                                                   \
  "movi v8.4s, #0\n movi v9.4s, #0\n movi v10.4s, #0\n movi v11.4s, #0\n movi v12.4s, #0\n movi v13.4s, #0\n movi "   \
  "v14.4s, #0\n movi v15.4s, #0\n"                                                                                    \
  "movi v16.4s, #0\n movi v17.4s, #0\n movi v18.4s, #0\n movi v19.4s, #0\n movi v20.4s, #0\n movi v21.4s, #0\n movi " \
  "v22.4s, #0\n movi v23.4s, #0\n"                                                                                    \
  "movi v24.4s, #0\n movi v25.4s, #0\n movi v26.4s, #0\n movi v27.4s, #0\n movi v28.4s, #0\n movi v29.4s, #0\n movi " \
  "v30.4s, #0\n movi v31.4s, #0\n"
// The k loop of a tile. Every four k it prefetches two lines, then executes `move_on`.
#define SHEAF_TILE(one_place, other_place, move_on)                                                       \
  SHEAF_OPERANDS                                                                                          \
  "cmp %[k], #0\n"                                                                                        \
  "b.le 2f\n"                                                                                             \
  ".p2align 5\n"                                                                                          \
  "1:\n" SHEAF_STEP(2, 3, 4, 5, 6, 7, , "subs %[k], %[k], #4\n", , "prfm pldl1keep, [%[a], %[near]]\n", ) \
      SHEAF_STEP(5, 6, 7, 2, 3, 4, , , , "prfm pldl2keep, [" one_place "]\n", )                           \
          SHEAF_STEP(2, 3, 4, 5, 6, 7, , , , "prfm pldl1keep, [%[a], %[near]]\n", )                       \
              SHEAF_STEP(5, 6, 7, 2, 3, 4, , "prfm pldl2keep, [" other_place "]\n", , move_on "\n", ) SHEAF_REST()
// clang-format on

// Stores to `to`, or adds to it, the sum of `from` (if any) and k outer products of a[l * lda ...] and b[l * ldb ...];
// strides are in bytes. Every two k it prefetches `line`, which advances by `step` and `period - step` alternately, and
// the line `near` bytes after a.
inline void tile_8x12(int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, const float* from, float* to,
                      int64_t ldc, bool add, const std::byte* line, int64_t step, int64_t period, int64_t near) {
  int64_t adding = add;
  k -= 4;  // the k that remain after the next four
  asm volatile("cbnz %[from], 8f\n" SHEAF_ZEROS "b 9f\n 8:\n" SHEAF_SUMS("ldp", "%[from]") "9:\n" SHEAF_TILE(
                   "%[line]", "%[line], %[step]", "add %[line], %[line], %[period]")
               : [a] "+&r"(a), [b] "+&r"(b), [k] "+&r"(k), [line] "+&r"(line), [to] "+&r"(to)
               : [lda] "r"(lda), [ldb] "r"(ldb), [from] "r"(from), [ldc] "r"(ldc), [adding] "r"(adding),
                 [step] "r"(step), [period] "r"(period), [near] "r"(near)
               : SHEAF_CLOBBERED);
}

// The same for packed operands, without `from`; prefetches the lines at the offsets `places` from `line`, in order.
inline void asking_tile_8x12(int64_t k, const float* a, const float* b, float* to, int64_t ldc, bool add,
                             const std::byte* line, const int64_t* places, int64_t near) {
  int64_t adding = add, lda = 8 * sizeof(float), ldb = 12 * sizeof(float), one = *places++, other = *places++;
  k -= 4;
  asm volatile(
      SHEAF_ZEROS SHEAF_TILE("%[line], %[one]", "%[line], %[other]", "ldp %[one], %[other], [%[places]], #16")
      : [a] "+&r"(a), [b] "+&r"(b), [k] "+&r"(k), [places] "+&r"(places), [one] "+&r"(one), [other] "+&r"(other),
        [to] "+&r"(to)
      : [lda] "r"(lda), [ldb] "r"(ldb), [ldc] "r"(ldc), [adding] "r"(adding), [line] "r"(line), [near] "r"(near)
      : SHEAF_CLOBBERED);
}

#define SHEAF_PUT(y) "str q" #y ", [%[packed]], #16\n"
// The same for packed a. Also packs: stores the rows of b consecutively to `packed`; prefetches b `ahead` bytes further
// on.
inline void packing_tile_8x12(int64_t k, const float* a, const float* b, int64_t ldb, float* packed, float* to,
                              int64_t ldc, bool add, int64_t ahead) {
  int64_t adding = add, lda = 8 * sizeof(float);
  k -= 4;
  asm volatile(SHEAF_ZEROS
      SHEAF_OPERANDS
      SHEAF_PUT(2) SHEAF_PUT(3) SHEAF_PUT(4)
      "cmp %[k], #0\n"
      "b.le 2f\n"
      ".p2align 5\n"
      "1:\n"
      SHEAF_STEP(2, 3, 4, 5, 6, 7, , "subs %[k], %[k], #4\n", "stp q5, q6, [%[packed], #0]\n",
                 "prfm pldl1keep, [%[b], %[ahead]]\n", "str q7, [%[packed], #32]\n")
      SHEAF_STEP(5, 6, 7, 2, 3, 4, , , "stp q2, q3, [%[packed], #48]\n",
                 "prfm pldl1keep, [%[b], %[ahead]]\n", "str q4, [%[packed], #80]\n")
      SHEAF_STEP(2, 3, 4, 5, 6, 7, , , "stp q5, q6, [%[packed], #96]\n",
                 "prfm pldl1keep, [%[b], %[ahead]]\n", "str q7, [%[packed], #128]\n")
      SHEAF_STEP(5, 6, 7, 2, 3, 4, , , "stp q2, q3, [%[packed], #144]\n",
                 "prfm pldl1keep, [%[b], %[ahead]]\n", "str q4, [%[packed], #176]\n")
      "add %[packed], %[packed], #192\n"
      SHEAF_REST(SHEAF_PUT(2) SHEAF_PUT(3) SHEAF_PUT(4))
      : [a] "+&r"(a), [b] "+&r"(b), [k] "+&r"(k), [packed] "+&r"(packed), [to] "+&r"(to)
      : [lda] "r"(lda), [ldb] "r"(ldb), [ldc] "r"(ldc), [adding] "r"(adding), [ahead] "r"(ahead)
      : SHEAF_CLOBBERED);
}

#undef SHEAF_PUT
#undef SHEAF_TILE
#undef SHEAF_ZEROS
#undef SHEAF_FINISH
#undef SHEAF_REST
#undef SHEAF_CLOBBERED
#undef SHEAF_FMA
#undef SHEAF_LOAD
#undef SHEAF_STEP
#undef SHEAF_STEP_ALONE
#undef SHEAF_OPERANDS
#undef SHEAF_SUMS
#undef SHEAF_ADD_ROW
#undef SHEAF_STORE_ROW
#undef SHEAF_ROWS

}  // namespace sheaf::kernels::neon

// Vectors of floats for the register tiles: Simd<float> and Simd<double> per instruction set, and what a tile does with
// them. Elements are computed independently, each operation rounded once, so the width of a vector shows in no bit.
//
// Each Simd<T> has, beside arithmetic:
//   max(a, b)                b where a is NaN; b is never NaN
//   if_less(x, c, a, b)      x < c ? a : b
//   pow2(shifted)            2^n where the sum with scalar::math's kRoundToInt left n in the low bits
//   load_row(y, b)           consecutive elements into all of y
//   multiply(acc, a, y)      acc[i][v] += a[i] y[v]
//   begin(acc, a, y)         acc[i][v] = a[i] y[v]
//   multiply_steps(acc, steps, a, lda, row, each)   acc[i][v] += a[l * lda + i] row(v) for so many l, in order; row(0),
//   row(1) … are called for every l,
//                            each() before every two; only where that is faster than multiply
//   tile(k, a, lda, b, ldb, from, to, ldc, add, ask, step, turn, near)   where the largest tile is written out: stores
//   `from` (if any) and a sum of k outer products to
//                            rows ldc apart, or adds to them; asks for memory as Prefetch says
//   packing_tile(k, a, b, ldb, packed, to, ldc, add, ahead)   the same for a packed a; leaves b packed
//   row_tile(k, a, lda, b, ldb, to, ldc, add, ask, step, turn)   the same for a whose rows are contiguous, lda apart;
//   leaving_row_tile leaves a copy of them,
//                            which taking_row_tile takes
//   multiply_rows(acc, a, lda, b, ldb)   acc[i][v] += a[i * lda + l] b[l * ldb + v's elements] for kDepth l, in order
//   multiply_columns(acc, b, ldb, x, ldx)   for floats: acc[i] += x[i * ldx + l] b[l + lane * ldb] for
//   kColumnDepth<element of b> l, in order load_quads(y, b, ldb)    for floats, not the portable one: y[i] has elements
//   4 i to 4 i + 3 of each of kQuads columns, for as many y as make 16 bytes of a column splat_quad(x)            x[0]
//   to x[3] for each of the columns sum_quads(v, out)        out[r] = (v[0] + v[1]) + (v[2] + v[3]) of quad r
//   transpose_quads(y)       element e of quad r of y[c] is element c of that quad of y[e], for four y
//   sum_sixteens(acc, out)   for floats, not the portable one: out[c] = the sum of the sixteen lanes of acc[c], for
//   four c, as routines::sum_of_chains adds them multiply_row_steps(acc, steps, a, lda, b, ldb, each)   so many of
//   these, each() before every one; only where that is faster than a loop add_narrow_rows<kRows>(sums, n, x, b, ldb,
//   each) sums[j] += x[l] b[l * ldb + j] for kRows l, in order, and so many j of the n as make whole steps, which it
//   returns;
//                            each(l, j) before every one; only where that is faster than multiply_rows
// Simd<float> also loads kLanes elements of the narrow floats, widened, and has
//   transpose(y)             of as many vectors as there are lanes; not the portable one
//   turn(to, from, apart, used, width, k)   to[l][i] = from[i * apart + l] for l < k and i < width, of which `used`
//   exist, the rest are zeros; only where that is faster than pack_transposed
#pragma once
#if defined(__aarch64__)
#include "kernels/simd/neon.h"
#else
#include "kernels/simd/portable.h"
#if defined(__x86_64__)
#include "kernels/simd/avx.h"
#endif
#endif

// Vectors of floats for register tiles: Simd<float> and Simd<double> for each instruction set, with the operations of a
// tile. Elements are computed independently, each operation rounds once, so no bit depends on the vector width.
//
// Each Simd<T> has arithmetic, and:
//   max(a, b): b where a is NaN; b is never NaN.
//   if_less(x, c, a, b): x < c ? a : b.
//   pow2(shifted): 2^n for shifted = n + kRoundToInt (scalar::math), which has n in its low bits.
//   load_row(y, b): consecutive elements into all of y.
//   multiply(acc, a, y): acc[i][v] += a[i] y[v].
//   begin(acc, a, y): acc[i][v] = a[i] y[v].
//   multiply_rows(acc, a, lda, b, ldb): acc[i][v] += a[i * lda + l] b[l * ldb + elements of v] for kDepth l, in order.
// For floats:
//   multiply_columns(acc, b, ldb, x, ldx): acc[i] += x[i * ldx + l] b[l + lane * ldb] for kColumnDepth<element of b> l,
//   in order.
//   load(p) of kLanes narrow floats, which it widens.
// For floats, but not the portable one:
//   load_quads(y, b, ldb): y[i] has elements 4 i to 4 i + 3 of each of kQuads columns, for enough y to hold 16 bytes of
//   a column. splat_quad(x): x[0] to x[3] for each of the columns. sum_quads(v, out): out[r] = (v[0] + v[1]) + (v[2]
//   + v[3]) of quad r. transpose_quads(y): element e of quad r of y[c] is element c of that quad of y[e], for four y.
//   sum_sixteens(acc, out): out[c] = the sum of the sixteen lanes of acc[c], for four c, in the order of
//   routines::sum_of_chains. transpose(y): transposes kLanes vectors.
// Only where an instruction set has them:
//   load_part(p, n), store_part(p, v, n): the first n elements, n < kLanes; loading sets the others to zero.
// Only where it is faster than the generic code of the micro-kernels:
//   multiply_steps(acc, steps, a, lda, row, each): acc[i][v] += a[l * lda + i] row(v) for `steps` l, in order; calls
//   row(0), row(1) … for every l and each() before every two.
//   multiply_row_steps(acc, steps, a, lda, b, ldb, each): `steps` times multiply_rows; calls each() before every one.
//   tile(k, a, lda, b, ldb, from, to, ldc, add, line, step, period, near): the largest tile in assembly. Stores `from`
//   (if any) and a sum of k outer products to rows ldc apart, or adds to them; prefetches like Prefetch.
//   packing_tile(k, a, b, ldb, packed, to, ldc, add, ahead): the same for a packed a; also packs b.
//   row_tile(k, a, lda, b, ldb, to, ldc, add, line, step, period): the same for rows of a that are contiguous, lda
//   apart. leaving_row_tile also copies these rows, and taking_row_tile reads that copy. pack_transposed(to, from,
//   apart, used, width, k): to[l][i] = from[i * apart + l] for l < k and i < width, of which `used` exist; the rest are
//   zeros. add_narrow_rows<kRows>(sums, n, x, b, ldb, each): sums[j] += x[l] b[l * ldb + j] for kRows l, in order.
//   Returns the number of j that it processed; calls each(l, j) before every step.
#pragma once
#if defined(__aarch64__)
#include "kernels/simd/neon.h"
#else
#include "kernels/simd/portable.h"
#if defined(__x86_64__)
#include "kernels/simd/avx.h"
#endif
#endif

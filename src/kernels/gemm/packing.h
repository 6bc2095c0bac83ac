// Operands of a GEMM, and packing: copies blocks of them into the order in which a micro-kernel reads them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/tasks.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {

using scalar::BFloat16;
using scalar::Float16;

// A strided view of one matrix of the batch. S is the type in memory, T the type of the arithmetic.
template <class S>
struct MatrixView {
  const S* data;
  int64_t minor, k;  // strides: from one row of A or column of B to the next, and along k
  const S* at(int64_t i, int64_t l) const { return data + i * minor + l * k; }
};

template <class T, class S>
inline T widen(S x) {
  return scalar::convert<T>(x);
}

using Float4 = float __attribute__((vector_size(16)));
inline Float4 load4(const float* p) {
  Float4 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Transposes a 4 x 4 block in registers.
inline void transpose4(Float4 (&x)[4]) {
  Float4 ab = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5), cd = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  Float4 ab2 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7), cd2 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), x[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), x[3] = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
}

// to[c][r] = from[r][c] for four rows and columns.
inline void transpose4(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Float4 x[4] = {load4(from), load4(from + from_stride), load4(from + 2 * from_stride), load4(from + 3 * from_stride)};
  transpose4(x);
  for (int r = 0; r < 4; ++r)
    std::memcpy(to + r * to_stride, &x[r], sizeof x[r]);
}

// to[i][j] = from[j][i] for i < rows and j < columns.
template <class T>
void transpose(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
  int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (std::is_same_v<T, float>) {
    whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    for (int64_t i = 0; i < whole_rows; i += 4)
      for (int64_t j = 0; j < whole_columns; j += 4)
        transpose4(from + j * from_stride + i, from_stride, to + i * to_stride + j, to_stride);
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[i * to_stride + j] = from[j * from_stride + i];
}

// dst[l][i] = from[i * apart + l] for i < width and l < the largest multiple of the step up to k, which it returns.
template <class S>
int64_t pack_transposed(float* dst, const S* from, int64_t apart, int64_t width, int64_t k) {
  // Eight k of each row at a time, since the lines of many rows may map to one cache set. Stores are consecutive, which
  // takes half the time of scattered ones. As many rows at a time as fit in registers.
  constexpr int64_t kStep = 8;
#if defined(__aarch64__)
  constexpr int kMostRows = 12;
#else
  constexpr int kMostRows = 4;
#endif
  auto load = [](const S* p) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<S, float>)
      return load4(p);
    else
      return Float4{widen<float>(p[0]), widen<float>(p[1]), widen<float>(p[2]), widen<float>(p[3])};
  };
  auto transpose_rows = [&]<int kRows>(std::integral_constant<int, kRows>, int64_t i,
                                       int64_t l) __attribute__((always_inline)) {
    const S* row = from + i * apart + l;
    Float4 x[2][kRows / 4][4];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r)
      x[0][r / 4][r % 4] = load(row + r * apart), x[1][r / 4][r % 4] = load(row + r * apart + 4);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 3
      for (int b = 0; b < kRows / 4; ++b)
        transpose4(x[half][b]);
      float* to = dst + (l + 4 * half) * width + i;
#pragma GCC unroll 4
      for (int e = 0; e < 4; ++e, to += width)
#pragma GCC unroll 3
        for (int b = 0; b < kRows / 4; ++b)
          std::memcpy(to + 4 * b, &x[half][b][e], sizeof(Float4));
    }
  };
  int64_t l = 0;
  for (; l + kStep <= k; l += kStep) {
    int64_t i = 0;
    for (; i + kMostRows <= width; i += kMostRows)
      transpose_rows(std::integral_constant<int, kMostRows>{}, i, l);
    if (kMostRows > 8 && i + 8 <= width) transpose_rows(std::integral_constant<int, 8>{}, i, l), i += 8;
    if (kMostRows > 4 && i + 4 <= width) transpose_rows(std::integral_constant<int, 4>{}, i, l), i += 4;
    for (; i < width; ++i)
      for (int64_t m = l; m < l + kStep; ++m)
        dst[m * width + i] = widen<float>(from[i * apart + m]);
  }
  return l;
}

// dst[l][i] = src(i, l) for i < width (of which `used` exist, the rest zero) and l < k.
template <class T, class S>
void pack(T* dst, const MatrixView<S>& src, int64_t i0, int64_t l0, int64_t used, int64_t width, int64_t k) {
  const S* from = src.at(i0, l0);
  if (used < width) {
    for (int64_t l = 0; l < k; ++l, dst += width) {
      const S* row = from + l * src.k;
      if (std::is_same_v<T, S> && src.minor == 1)
        std::memcpy(dst, row, used * sizeof(T));
      else
        for (int64_t i = 0; i < used; ++i)
          dst[i] = widen<T>(row[i * src.minor]);
      std::fill(dst + used, dst + width, T(0));
    }
    return;
  }
  if (src.minor == 1) {
    auto rows = [&](auto w) {
      for (int64_t l = 0; l < k; ++l)
        if constexpr (std::is_same_v<T, S>)
          std::memcpy(dst + l * w, from + l * src.k, w * sizeof(T));
        else
          for (int64_t i = 0; i < w; ++i)
            dst[l * w + i] = widen<T>(from[l * src.k + i]);
    };
    // A constant width compiles to a few vector moves.
    if (width == 12)
      rows(std::integral_constant<int64_t, 12>{});
    else if (width == 8)
      rows(std::integral_constant<int64_t, 8>{});
    else if (width == 6)
      rows(std::integral_constant<int64_t, 6>{});
    else if (width == 14)
      rows(std::integral_constant<int64_t, 14>{});
    else if (width == 16)
      rows(std::integral_constant<int64_t, 16>{});
    else if (width == 32)
      rows(std::integral_constant<int64_t, 32>{});
    else if (width == 4)
      rows(std::integral_constant<int64_t, 4>{});
    else
      rows(width);
    return;
  }
  int64_t l = 0;
  // If k is contiguous, transpose 4 x 4 blocks in registers.
  if constexpr (std::is_same_v<T, float>)
    if (src.k == 1) l = pack_transposed(dst, from, src.minor, width, k);
  // A few k at a time, so that each row's cache line is read once.
  for (; l < k; l += 16) {
    int64_t end = std::min(k, l + 16);
    for (int64_t i = 0; i < width; ++i)
      for (int64_t m = l; m < end; ++m)
        dst[m * width + i] = widen<T>(from[i * src.minor + m * src.k]);
  }
}

}  // namespace sheaf::kernels

// What dividing methods do with doubles (routines/linalg/steps.h), for one instruction set (simd.h): included once per
// set.

inline PoleSums pole_sums(const double* z, const double* poles, int64_t n, double x) {
  using S = Simd<double>;
  constexpr int64_t kLanes = S::kLanes, kVectors = kPoleSums / kLanes;
  typename S::V values[kVectors], slopes[kVectors];
#pragma GCC unroll 8
  for (int64_t v = 0; v < kVectors; ++v)
    values[v] = slopes[v] = S::zero();
  const typename S::V at = S::splat(x);
  int64_t i = 0;
  for (; i + kPoleSums <= n; i += kPoleSums)
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) {
      const typename S::V factor = S::load(z + i + v * kLanes), t = factor / (S::load(poles + i + v * kLanes) - at);
      values[v] = values[v] + factor * t;
      slopes[v] = slopes[v] + t * t;
    }
  double value[kPoleSums], slope[kPoleSums];
#pragma GCC unroll 8
  for (int64_t v = 0; v < kVectors; ++v)
    S::store(value + v * kLanes, values[v]), S::store(slope + v * kLanes, slopes[v]);
  for (int64_t lane = 0; i < n; ++i, ++lane) {
    const double t = z[i] / (poles[i] - x);
    value[lane] += z[i] * t;
    slope[lane] += t * t;
  }
  return {total_of(value), total_of(slope)};
}

// kWide vectors of columns, which stay in registers on their way from row to row.
template <int kWide>
inline void turn_columns(double* rows, int64_t step, const Turn* turns, int64_t count) {
  using S = Simd<double>;
  typename S::V carried[kWide];
#pragma GCC unroll 8
  for (int v = 0; v < kWide; ++v)
    carried[v] = S::load(rows + v * S::kLanes);
  for (int64_t i = 0; i < count; ++i, rows += step) {
    const typename S::V c = S::splat(turns[i].c), s = S::splat(turns[i].s);
#pragma GCC unroll 8
    for (int v = 0; v < kWide; ++v) {
      const typename S::V next = S::load(rows + step + v * S::kLanes);
      S::store(rows + v * S::kLanes, c * carried[v] + s * next);
      carried[v] = c * next - s * carried[v];
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kWide; ++v)
    S::store(rows + v * S::kLanes, carried[v]);
}

inline void turn_rows(double* rows, int64_t step, int64_t columns, const Turn* turns, int64_t count) {
  constexpr int64_t kLanes = Simd<double>::kLanes;
  int64_t j = 0;
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes)
    turn_columns<4>(rows + j, step, turns, count);
  for (; j + kLanes <= columns; j += kLanes)
    turn_columns<1>(rows + j, step, turns, count);
  if (j < columns) Plain::turn_rows(rows + j, step, columns - j, turns, count);
}

template <class T>
constexpr Kernels<T> kKernels{pole_sums, turn_rows};

#include <cmath>
#include <vector>

#include "routines/attention/args.h"
#include "scalar/math/host_builder.h"
#include "scalar/math/math_functions.h"
#include "scalar/scalar_ops.h"
#include "support/error.h"

namespace sheaf::routines {

namespace {

using namespace scalar;

template <class T>
T decay(T x) {
  math::HostBuilder b;
  return math::HostBuilder::get<T>(math::decay(math::Scalar<math::HostBuilder, T>(b, math::HostBuilder::make(x))).v);
}
template <class T>
T log(T x) {
  math::HostBuilder b;
  return math::HostBuilder::get<T>(math::log(math::Scalar<math::HostBuilder, T>(b, math::HostBuilder::make(x))).v);
}
template <class T>
T fma(T a, T b, T c) {
  return apply<Op::Fma>(a, b, c);
}

// x as an operand of a matrix unit.
template <class T>
BFloat16 rounded(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? BFloat16{} : convert<BFloat16>(x);
}

// total plus the sum of a(i) b(i) for i < n: one chain, or the order of a matrix unit.
template <class T, class A, class B>
T add_products(bool by_tiles, T total, int64_t n, A&& a, B&& b) {
  if (!by_tiles) {
    for (int64_t i = 0; i < n; ++i)
      total = fma(a(i), b(i), total);
    return total;
  }
  auto left = [&](int64_t i) { return i < n ? rounded(a(i)) : BFloat16{}; };
  auto right = [&](int64_t i) { return i < n ? rounded(b(i)) : BFloat16{}; };
  for (int64_t i = 0; i < n; i += kTileTerms) {
    Bf16TileSum sum;
    for (int64_t l = i; l < i + kTileTerms; l += 2)
      sum.add(left(l), right(l), left(l + 1), right(l + 1));
    total = sum.added_to(static_cast<float>(total));
  }
  return total;
}

template <class T>
constexpr T kNothing = -std::numeric_limits<T>::infinity();
// The value to subtract from scores whose maximum is m.
template <class T>
T reference_point(T m) {
  return m == kNothing<T> ? T(0) : m;
}

int64_t rows_of_a_group(const RoutineCall& c, const AttentionArgs<>& a) {
  return sums_by_tiles(c.arithmetic, a) ? kTileRows : kAttentionRows;
}

// One head of one element of the batch. S is the type in memory, T the type of the arithmetic.
template <class S, class T>
struct Head {
  const AttentionArgs<>& a;
  const RoutineCall& c;
  int mask_buffer;
  int64_t b, h, g;
  T scale;
  Sight sight;
  bool by_tiles;

  Head(const AttentionArgs<>& a, const RoutineCall& c, int mask_buffer, int64_t b, int64_t h)
      : a(a),
        c(c),
        mask_buffer(mask_buffer),
        b(b),
        h(h),
        g(h / a.heads_per_group()),
        scale(buffer<T>(3)[b * a.scale]),
        sight(a, buffer<int64_t>(4)[b * a.offset], buffer<int64_t>(5)[b * a.window]),
        by_tiles(sums_by_tiles(c.arithmetic, a)) {}

  template <class E>
  const E* buffer(int i) const {
    return c.buffer<const E>(i);
  }
  T q(int64_t i, int64_t d) const {
    return convert<T>(buffer<S>(0)[b * a.q[0] + h * a.q[1] + i * a.q[2] + d * a.q[3]]);
  }
  T k(int64_t j, int64_t d) const {
    return convert<T>(buffer<S>(1)[b * a.k[0] + g * a.k[1] + j * a.k[2] + d * a.k[3]]);
  }
  T v(int64_t j, int64_t e) const {
    return convert<T>(buffer<S>(2)[b * a.v[0] + g * a.v[1] + j * a.v[2] + e * a.v[3]]);
  }
  int64_t mask_at(int64_t i, int64_t j) const {
    return b * a.mask_strides[0] + h * a.mask_strides[1] + i * a.mask_strides[2] + j * a.mask_strides[3];
  }
  bool shown(int64_t i, int64_t j) const {
    return a.mask != MaskKind::Bool || buffer<bool>(mask_buffer)[mask_at(i, j)];
  }
  bool seen(int64_t i, int64_t j) const {
    ColumnRange r = sight.range(i, i);
    return j >= r.begin && j < r.end && shown(i, j);
  }
  T score(int64_t i, int64_t j, int64_t chains) const {
    if (!seen(i, j)) return kNothing<T>;
    T s;
    if (by_tiles) {
      s = scale *
          add_products(true, T(0), a.depth, [&](int64_t d) { return q(i, d); }, [&](int64_t d) { return k(j, d); });
    } else {
      T c[kAttentionChains] = {};
      for (int64_t d = 0; d < a.depth; ++d)
        c[d % chains] = fma(q(i, d) * scale, k(j, d), c[d % chains]);
      s = chains == 1 ? c[0] : sum_of_chains(c);
    }
    if (a.mask == MaskKind::Added) s = s + convert<T>(buffer<S>(mask_buffer)[mask_at(i, j)]);
    return s;
  }

  // Calls f(begin, end) for each visible block of columns of the row group [first, last]; for all blocks with `all`.
  template <class F>
  void blocks(int64_t first, int64_t last, bool all, F&& f) const {
    ColumnRange r = all ? ColumnRange{0, a.columns} : sight.range(first, last);
    for (int64_t j = r.begin / kAttentionBlock * kAttentionBlock; j < r.end; j += kAttentionBlock) {
      int64_t begin = std::max(j, r.begin), end = std::min(j + kAttentionBlock, r.end);
      bool any = all;
      for (int64_t i = first; i <= last && !any; ++i)
        for (int64_t l = begin; l < end && !any; ++l)
          any = shown(i, l);
      if (any) f(begin, end);
    }
  }
};

// A row's streaming state.
template <class T>
struct Row {
  T m = kNothing<T>, l = 0;
  std::vector<T> y;
};

template <class S, class T>
void attention_in(const RoutineCall& c, const AttentionArgs<>& a) {
  const int out = a.first_result();
  S* y = c.buffer<S>(out);
  T* lse = c.buffer<T>(out + 1);
  const int64_t chains = a.rows == 1 ? kAttentionChains : 1, group_rows = rows_of_a_group(c, a);
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h) {
      Head<S, T> head(a, c, a.kMaskBuffer, b, h);
      for (int64_t first = 0; first < a.rows; first += group_rows) {
        int64_t last = std::min(a.rows, first + group_rows) - 1;
        int64_t stretch = -1;
        bool joined = false;
        std::vector<Row<T>> total(last - first + 1, {kNothing<T>, 0, std::vector<T>(a.width, 0)}), part = total;
        auto join = [&] {
          for (size_t i = 0; i < total.size(); ++i) {
            Row<T>&t = total[i], &p = part[i];
            if (!joined) {
              t = p;
            } else {
              T m = apply<Op::Max>(t.m, p.m), at = reference_point(m), x = decay(t.m - at), z = decay(p.m - at);
              t.l = fma(p.l, z, t.l * x);
              for (int64_t e = 0; e < a.width; ++e)
                t.y[e] = fma(p.y[e], z, t.y[e] * x);
              t.m = m;
            }
            p = {kNothing<T>, 0, std::vector<T>(a.width, 0)};
          }
          joined = true;
        };
        head.blocks(first, last, false, [&](int64_t begin, int64_t end) {
          if (stretch >= 0 && begin / kAttentionStretch != stretch) join();
          stretch = begin / kAttentionStretch;
          for (int64_t i = first; i <= last; ++i) {
            Row<T>& row = part[i - first];
            std::vector<T> s;
            T m = row.m;
            for (int64_t j = begin; j < end; ++j) {
              s.push_back(head.score(i, j, chains));
              // A NaN score makes the row NaN through its weight; the running maximum must not become NaN.
              if (s.back() == s.back()) m = apply<Op::Max>(s.back(), m);
            }
            T at = reference_point(m), factor = decay(row.m - at);
            row.m = m;
            T l[kAttentionChains] = {row.l * factor};
            for (int64_t j = begin; j < end; ++j) {
              T& p = s[j - begin];
              p = decay(p - at);
              l[(j - begin) % chains] = l[(j - begin) % chains] + p;
            }
            for (int64_t e = 0; e < a.width; ++e)
              row.y[e] = add_products(
                  head.by_tiles, row.y[e] * factor, end - begin, [&](int64_t j) { return s[j]; },
                  [&](int64_t j) { return head.v(begin + j, e); });
            row.l = chains == 1 ? l[0] : sum_of_chains(l);
          }
        });
        join();
        for (int64_t i = first; i <= last; ++i) {
          const Row<T>& row = total[i - first];
          int64_t at = (b * a.rows + i) * a.heads + h;
          T factor = T(1) / row.l;
          for (int64_t e = 0; e < a.width; ++e)
            y[at * a.width + e] = convert<S>(row.y[e] * factor);
          lse[at] = row.m + log(row.l);
        }
      }
    }
}

template <class S, class T>
void attention_vjp_in(const RoutineCall& c, const AttentionVjpArgs<>& a) {
  const T* lse = c.buffer<const T>(6);
  const T* delta = c.buffer<const T>(7);
  const S* dys = c.buffer<const S>(8);
  const T* scales = c.buffer<const T>(3);
  const int out = a.first_result(a.kMaskBuffer);
  const int64_t group_rows = rows_of_a_group(c, a);
  std::vector<T> dq(a.batch * a.rows * a.heads * a.depth), dk(a.batch * a.columns * a.groups * a.depth),
      dv(a.batch * a.columns * a.groups * a.width);
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.heads; ++h) {
      Head<S, T> head(a, c, a.kMaskBuffer, b, h);
      auto lse_of = [&](int64_t i) { return lse[b * a.lse[0] + i * a.lse[1] + h * a.lse[2]]; };
      auto dy_of = [&](int64_t i, int64_t e) {
        return convert<T>(dys[b * a.dy[0] + i * a.dy[1] + h * a.dy[2] + e * a.dy[3]]);
      };
      auto row = [&](std::vector<T>& d, int64_t n, int64_t i, int64_t heads, int64_t at, int64_t width) {
        return d.data() + ((b * n + i) * heads + at) * width;
      };
      for (int64_t first = 0; first < a.rows; first += group_rows) {
        const int64_t last = std::min(a.rows, first + group_rows) - 1, rows = last - first + 1;
        bool all = false;
        for (int64_t i = first; i <= last; ++i)
          all |= !std::isfinite(lse_of(i));
        head.blocks(first, last, all, [&](int64_t begin, int64_t end) {
          const int64_t columns = end - begin;
          // Weights and adjoints of scores, [row][column].
          std::vector<T> p(rows * columns), ds(rows * columns);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              T& weight = p[i * columns + j] = decay(head.score(first + i, begin + j, 1) - lse_of(first + i));
              const T dp = add_products(
                  head.by_tiles, T(0), a.width, [&](int64_t e) { return dy_of(first + i, e); },
                  [&](int64_t e) { return head.v(begin + j, e); });
              ds[i * columns + j] =
                  head.seen(first + i, begin + j)
                      ? weight * (dp - delta[b * a.delta[0] + (first + i) * a.delta[1] + h * a.delta[2]])
                      : T(0);
            }
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t d = 0; d < a.depth; ++d) {
              T& to = row(dq, a.rows, first + i, a.heads, h, a.depth)[d];
              to = add_products(
                  head.by_tiles, to, columns, [&](int64_t j) { return ds[i * columns + j]; },
                  [&](int64_t j) { return head.k(begin + j, d); });
            }
          int64_t touched = columns;
          if (head.by_tiles)
            touched = std::min({(columns + kTileTerms - 1) / kTileTerms * kTileTerms, a.columns - begin,
                                (begin / kAttentionBlock + 1) * kAttentionBlock - begin});
          for (int64_t j = 0; j < touched; ++j) {
            auto weight = [&](const std::vector<T>& of) {
              return [&](int64_t i) { return j < columns ? of[i * columns + j] : T(0); };
            };
            for (int64_t d = 0; d < a.depth; ++d) {
              T& to = row(dk, a.columns, begin + j, a.groups, head.g, a.depth)[d];
              to = add_products(head.by_tiles, to, rows, weight(ds), [&](int64_t i) { return head.q(first + i, d); });
            }
            for (int64_t e = 0; e < a.width; ++e) {
              T& to = row(dv, a.columns, begin + j, a.groups, head.g, a.width)[e];
              to = add_products(head.by_tiles, to, rows, weight(p), [&](int64_t i) { return dy_of(first + i, e); });
            }
          }
        });
      }
    }
  auto store = [&](int buffer, const std::vector<T>& from, bool scaled) {
    S* to = c.buffer<S>(buffer);
    for (size_t i = 0; i < from.size(); ++i)
      to[i] = convert<S>(from[i] * (scaled ? scales[i / (from.size() / a.batch) * a.scale] : T(1)));
  };
  store(out, dq, true);
  store(out + 1, dk, true);
  store(out + 2, dv, false);
}

}  // namespace

void attention(const RoutineCall& c, const AttentionArgs<>& a) {
  switch (a.dtype) {
    case DType::F32: return attention_in<float, float>(c, a);
    case DType::F64: return attention_in<double, double>(c, a);
    case DType::BF16: return attention_in<BFloat16, float>(c, a);
    case DType::F16: return attention_in<Float16, float>(c, a);
    default: INVARIANT(false, "attention of dtype " << name_of(a.dtype));
  }
}

void attention_vjp(const RoutineCall& c, const AttentionVjpArgs<>& a) {
  switch (a.dtype) {
    case DType::F32: return attention_vjp_in<float, float>(c, a);
    case DType::F64: return attention_vjp_in<double, double>(c, a);
    case DType::BF16: return attention_vjp_in<BFloat16, float>(c, a);
    case DType::F16: return attention_vjp_in<Float16, float>(c, a);
    default: INVARIANT(false, "attention of dtype " << name_of(a.dtype));
  }
}

}  // namespace sheaf::routines

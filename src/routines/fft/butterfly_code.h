// Transforms of a few complex numbers, in terms of an S that has a type V of one or several elements and, on these,
// zero, splat, add, sub, mul, fma. Included by the definition with single elements, and by kernels/fft, where it is
// included once per instruction set, each inside a namespace of its own: no include guard, no namespace here.

template <class S>
struct Pair {
  typename S::V re, im;
};

template <class S>
[[gnu::always_inline]] inline Pair<S> plus(const Pair<S>& a, const Pair<S>& b) {
  return {S::add(a.re, b.re), S::add(a.im, b.im)};
}
template <class S>
[[gnu::always_inline]] inline Pair<S> minus(const Pair<S>& a, const Pair<S>& b) {
  return {S::sub(a.re, b.re), S::sub(a.im, b.im)};
}
// a - i b, a + i b
template <class S>
[[gnu::always_inline]] inline Pair<S> minus_i(const Pair<S>& a, const Pair<S>& b) {
  return {S::add(a.re, b.im), S::sub(a.im, b.re)};
}
template <class S>
[[gnu::always_inline]] inline Pair<S> plus_i(const Pair<S>& a, const Pair<S>& b) {
  return {S::sub(a.re, b.im), S::add(a.im, b.re)};
}
template <class S>
[[gnu::always_inline]] inline Pair<S> times(const Pair<S>& a, const Pair<S>& w) {
  return {S::fma(a.re, w.re, -S::mul(a.im, w.im)), S::fma(a.re, w.im, S::mul(a.im, w.re))};
}

// Cosines and sines of 2 pi k / r, k from 1 to (r - 1) / 2.
template <int r>
struct Circle;
template <>
struct Circle<3> {
  static constexpr double kCos[] = {-0.5}, kSin[] = {0.86602540378443864676};
};
template <>
struct Circle<5> {
  static constexpr double kCos[] = {0.30901699437494742410, -0.80901699437494742410},
                          kSin[] = {0.95105651629515357212, 0.58778525229247312917};
};
template <>
struct Circle<7> {
  static constexpr double kCos[] = {0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624},
                          kSin[] = {0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048};
};
template <>
struct Circle<11> {
  static constexpr double kCos[] = {0.84125353283118116886, 0.41541501300188642553, -0.14231483827328514044,
                                    -0.65486073394528506406, -0.95949297361449738989},
                          kSin[] = {0.54064081745559758211, 0.90963199535451837141, 0.98982144188093273238,
                                    0.75574957435425828377, 0.28173255684142969771};
};
template <>
struct Circle<13> {
  static constexpr double kCos[] = {0.88545602565320989590,  0.56806474673115580251,  0.12053668025532305335,
                                    -0.35460488704253562597, -0.74851074817110109863, -0.97094181742605202716},
                          kSin[] = {0.46472317204376854566, 0.82298386589365639458, 0.99270887409805399280,
                                    0.93501624268541482344, 0.66312265824079520238, 0.23931566428755776715};
};

// The terms of output k are summed over pairs of inputs, z_j and z_{r-j}, in the order of j.
template <class S, class T, int r>
struct Butterfly {
  [[gnu::always_inline]] static void apply(Pair<S> (&z)[r]) {
    constexpr int kHalf = (r - 1) / 2;
    Pair<S> sum[kHalf], difference[kHalf], first = z[0];
#pragma GCC unroll 8
    for (int j = 1; j <= kHalf; ++j) {
      sum[j - 1] = plus(z[j], z[r - j]), difference[j - 1] = minus(z[j], z[r - j]);
      z[0] = plus(z[0], sum[j - 1]);
    }
#pragma GCC unroll 8
    for (int k = 1; k <= kHalf; ++k) {
      Pair<S> even = first, odd;
#pragma GCC unroll 8
      for (int j = 1; j <= kHalf; ++j) {
        const int turn = j * k % r;
        const double sine = turn <= kHalf ? Circle<r>::kSin[turn - 1] : -Circle<r>::kSin[r - turn - 1];
        const auto c = S::splat(static_cast<T>(Circle<r>::kCos[(turn <= kHalf ? turn : r - turn) - 1])),
                   s = S::splat(static_cast<T>(sine));
        even = {S::fma(c, sum[j - 1].re, even.re), S::fma(c, sum[j - 1].im, even.im)};
        if (j == 1)
          odd = {S::mul(s, difference[0].re), S::mul(s, difference[0].im)};
        else
          odd = {S::fma(s, difference[j - 1].re, odd.re), S::fma(s, difference[j - 1].im, odd.im)};
      }
      z[k] = minus_i(even, odd), z[r - k] = plus_i(even, odd);
    }
  }
};

template <class S, class T>
struct Butterfly<S, T, 2> {
  [[gnu::always_inline]] static void apply(Pair<S> (&z)[2]) {
    const Pair<S> a = z[0];
    z[0] = plus(a, z[1]), z[1] = minus(a, z[1]);
  }
};

template <class S, class T>
struct Butterfly<S, T, 4> {
  [[gnu::always_inline]] static void apply(Pair<S> (&z)[4]) {
    const Pair<S> a = plus(z[0], z[2]), b = minus(z[0], z[2]), c = plus(z[1], z[3]), d = minus(z[1], z[3]);
    z[0] = plus(a, c), z[1] = minus_i(b, d), z[2] = minus(a, c), z[3] = plus_i(b, d);
  }
};

template <class S, class T>
struct Butterfly<S, T, 8> {
  [[gnu::always_inline]] static void apply(Pair<S> (&z)[8]) {
    Pair<S> even[4] = {plus(z[0], z[4]), plus(z[1], z[5]), plus(z[2], z[6]), plus(z[3], z[7])};
    const Pair<S> b0 = minus(z[0], z[4]), b1 = minus(z[1], z[5]), b2 = minus(z[2], z[6]), b3 = minus(z[3], z[7]);
    Butterfly<S, T, 4>::apply(even);
    // b1 and b3 by the roots of 8, which are (1 - i) h and (-1 - i) h: h is multiplied with their sum and difference.
    const auto h = S::splat(static_cast<T>(0.70710678118654752440)),
               minus_h = S::splat(static_cast<T>(-0.70710678118654752440));
    const Pair<S> u = {S::add(b1.re, b1.im), S::sub(b1.im, b1.re)}, v = {S::sub(b3.im, b3.re), S::add(b3.re, b3.im)};
    const Pair<S> sum = {S::add(u.re, v.re), S::sub(u.im, v.im)}, difference = {S::sub(u.re, v.re), S::add(u.im, v.im)};
    const Pair<S> c = minus_i(b0, b2), d = plus_i(b0, b2);
    z[0] = even[0], z[2] = even[1], z[4] = even[2], z[6] = even[3];
    z[1] = {S::fma(h, sum.re, c.re), S::fma(h, sum.im, c.im)};
    z[5] = {S::fma(minus_h, sum.re, c.re), S::fma(minus_h, sum.im, c.im)};
    z[3] = {S::fma(h, difference.im, d.re), S::fma(minus_h, difference.re, d.im)};
    z[7] = {S::fma(minus_h, difference.im, d.re), S::fma(h, difference.re, d.im)};
  }
};

// Moves between the lanes of vectors, for step_code.h, and like it included once per instruction set. Patterns name,
// for each lane of the result, an element of a or of b, which are numbered on from those of a.

template <int kLanes>
struct EvenElements {
  static constexpr int at(int lane) { return 2 * lane; }
};
template <int kLanes>
struct OddElements {
  static constexpr int at(int lane) { return 2 * lane + 1; }
};
template <int kLanes>
struct LowInterleaved {
  static constexpr int at(int lane) { return lane / 2 + lane % 2 * kLanes; }
};
template <int kLanes>
struct HighInterleaved {
  static constexpr int at(int lane) { return kLanes / 2 + lane / 2 + lane % 2 * kLanes; }
};
template <int kLanes>
struct Reversed {
  static constexpr int at(int lane) { return kLanes - 1 - lane; }
};

template <class Pattern, class V, int... lane>
[[gnu::always_inline]] inline V picked(V a, V b, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(a, b, Pattern::at(lane)...);
}
template <class S, template <int> class Pattern>
[[gnu::always_inline]] inline typename S::V pick(typename S::V a, typename S::V b) {
  return picked<Pattern<S::kLanes>>(a, b, std::make_integer_sequence<int, S::kLanes>());
}

template <class S>
[[gnu::always_inline]] inline typename S::V reversed(typename S::V a) {
  if constexpr (S::kLanes == 1)
    return a;
  else
    return pick<S, Reversed>(a, a);
}

// Vectors of pairs, real and imaginary parts apart.
template <class S, class T>
[[gnu::always_inline]] inline void load_pairs(const T* pairs, typename S::V& re, typename S::V& im) {
  const auto a = S::load(pairs), b = S::load(pairs + S::kLanes);
  if constexpr (S::kLanes == 1)
    re = a, im = b;
  else
    re = pick<S, EvenElements>(a, b), im = pick<S, OddElements>(a, b);
}
template <class S, class T>
[[gnu::always_inline]] inline void store_pairs(T* pairs, typename S::V re, typename S::V im) {
  if constexpr (S::kLanes == 1)
    S::store(pairs, re), S::store(pairs + 1, im);
  else
    S::store(pairs, pick<S, LowInterleaved>(re, im)), S::store(pairs + S::kLanes, pick<S, HighInterleaved>(re, im));
}

// v[i] gets element i of each: as many times as lanes can be halved, the first half is interleaved with the second.
template <class S>
[[gnu::always_inline]] inline void transpose(typename S::V (&v)[S::kLanes]) {
  if constexpr (S::kLanes > 1) {
#pragma GCC unroll 4
    for (int round = 1; round < S::kLanes; round *= 2) {
      typename S::V next[S::kLanes];
#pragma GCC unroll 8
      for (int i = 0; i < S::kLanes / 2; ++i) {
        next[2 * i] = pick<S, LowInterleaved>(v[i], v[i + S::kLanes / 2]);
        next[2 * i + 1] = pick<S, HighInterleaved>(v[i], v[i + S::kLanes / 2]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < S::kLanes; ++i)
        v[i] = next[i];
    }
  }
}

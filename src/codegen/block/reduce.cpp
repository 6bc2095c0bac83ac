// Accumulators of reductions, in the order that kReduceLanes documents. "One axis" adds consecutive elements of one
// reduction; "interleaved" adds one element to each of up to kChunk reductions: a reduction inside a vector axis runs
// like this.
#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "codegen/block/step.h"
#include "scalar/scalar_ops.h"
#include "support/error.h"
#include "support/ivdep.h"

namespace sheaf::codegen::block {
namespace {

using loop::Combine;
using loop::kReduceBlock;
using loop::kReduceLanes;
using scalar::combine;
using scalar::identity;
using scalar::kIsFloat;
using scalar::replaces;

// Levels of the binary counter of blocks: enough for 2^35 elements, interleaved.
constexpr int kLevels = 64, kLevelsInterleaved = 24;

// 16 bytes of T, combined elementwise.
template <class T>
struct Vec {
  static constexpr int kSize = 16 / sizeof(T);
  typedef T type __attribute__((vector_size(16)));
};
template <Combine c, class T, class V>
inline V combine_vectors(V a, V b) {
  if constexpr (c == Combine::Sum)
    return a + b;
  else if constexpr (c == Combine::Prod)
    return a * b;
  else if constexpr (!kIsFloat<T>)
    return (c == Combine::Max ? a > b : a < b) ? a : b;
  else {
#if defined(__aarch64__)
    // These instructions give NaN if either operand is NaN, and order -0 before +0.
    if constexpr (sizeof(T) == 4)
      return c == Combine::Max ? V(vmaxq_f32(float32x4_t(a), float32x4_t(b)))
                               : V(vminq_f32(float32x4_t(a), float32x4_t(b)));
    else
      return c == Combine::Max ? V(vmaxq_f64(float64x2_t(a), float64x2_t(b)))
                               : V(vminq_f64(float64x2_t(a), float64x2_t(b)));
#else
    // Equal operands differ at most in the sign of zero: Max wants + (and), Min wants - (or).
    using Bits = decltype(a < b);
    V tie = c == Combine::Max ? V(Bits(a) & Bits(b)) : V(Bits(a) | Bits(b));
    V r = (c == Combine::Max ? a > b : a < b) ? a : b;
    r = a == b ? tie : r;
    r = b != b ? b : r;
    return a != a ? a : r;
#endif
  }
}

template <Combine c, class T>
struct OneAxis {
  T lanes[kReduceLanes];
  T pending[kLevels];
  int64_t blocks;
  int count;

  static OneAxis& of(std::byte* p) { return *reinterpret_cast<OneAxis*>(p); }

  static void init(std::byte* p) {
    OneAxis& s = of(p);
    s.blocks = s.count = 0;
    for (T& lane : s.lanes)
      lane = identity<c, T>();
  }

  // `groups` times kReduceLanes elements.
  void add_groups(const T* x, int64_t groups) {
    using V = typename Vec<T>::type;
    constexpr int kVecs = kReduceLanes / Vec<T>::kSize;
    V acc[kVecs];
    std::memcpy(acc, lanes, sizeof lanes);
    for (int64_t g = 0; g < groups; ++g, x += kReduceLanes) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) {
        V e;
        std::memcpy(&e, x + v * Vec<T>::kSize, sizeof e);
        acc[v] = combine_vectors<c, T>(acc[v], e);
      }
    }
    std::memcpy(lanes, acc, sizeof lanes);
  }

  void flush() {
    T tree[kReduceLanes];
    for (int i = 0; i < kReduceLanes; ++i)
      tree[i] = lanes[i], lanes[i] = identity<c, T>();
    for (int half = kReduceLanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        tree[i] = combine<c>(tree[i], tree[i + half]);
    T total = tree[0];
    for (int64_t bits = blocks++; bits & 1; bits >>= 1)
      total = combine<c>(pending[--count], total);
    pending[count++] = total;
  }

  static void add(std::byte* p, const std::byte* elements, int64_t at, int64_t n) {
    OneAxis& s = of(p);
    const T* x = reinterpret_cast<const T*>(elements);
    int64_t lane = at % kReduceLanes, done = 0;
    if constexpr (!std::is_same_v<T, bool>)
      if (lane == 0 && n >= kReduceLanes) {
        s.add_groups(x, n / kReduceLanes);
        done = n / kReduceLanes * kReduceLanes;
      }
    for (; done < n; ++done, lane = (lane + 1) % kReduceLanes)
      s.lanes[lane] = combine<c>(s.lanes[lane], x[done]);
    if ((at + n) % kReduceBlock == 0) s.flush();
  }

  static void finish(std::byte* p, std::byte* result, int64_t n, int64_t) {
    OneAxis& s = of(p);
    T total = identity<c, T>();
    if (n % kReduceBlock != 0) s.flush();
    if (s.count > 0) {
      total = s.pending[--s.count];
      while (s.count > 0)
        total = combine<c>(s.pending[--s.count], total);
    }
    std::memcpy(result, &total, sizeof total);
  }
};

template <Combine c, class T>
struct OneAxisPosition {
  T best;
  int64_t position;

  static OneAxisPosition& of(std::byte* p) { return *reinterpret_cast<OneAxisPosition*>(p); }
  static void init(std::byte* p) { of(p).position = 0; }

  static void add(std::byte* p, const std::byte* elements, int64_t at, int64_t n) {
    OneAxisPosition& s = of(p);
    const T* x = reinterpret_cast<const T*>(elements);
    int64_t i = 0;
    if (at == 0) s.best = x[0], i = 1;
    if constexpr (!std::is_same_v<T, bool>) {
      // Most chunks do not improve the result: find the extreme of a chunk first, its position only if it is better.
      constexpr int kLanes = 4 * Vec<T>::kSize;
      if (n >= kLanes) {
        using V = typename Vec<T>::type;
        constexpr Combine kValue = c == Combine::ArgMax ? Combine::Max : Combine::Min;
        V acc[4];
        std::memcpy(acc, x, sizeof acc);
        int64_t j = kLanes;
        for (; j + kLanes <= n; j += kLanes)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v) {
            V e;
            std::memcpy(&e, x + j + v * Vec<T>::kSize, sizeof e);
            acc[v] = combine_vectors<kValue, T>(acc[v], e);
          }
        T m = acc[0][0];
        for (int v = 0; v < 4; ++v)
          for (int l = 0; l < Vec<T>::kSize; ++l)
            m = combine<kValue>(m, T(acc[v][l]));
        for (; j < n; ++j)
          m = combine<kValue>(m, x[j]);
        if (!replaces<c>(m, s.best)) return;
      }
    }
    for (; i < n; ++i)
      if (replaces<c>(x[i], s.best)) s.best = x[i], s.position = at + i;
  }

  static void finish(std::byte* p, std::byte* result, int64_t, int64_t) {
    std::memcpy(result, &of(p).position, sizeof(int64_t));
  }
};

template <Combine c, class T>
inline void combine_rows(T* to, const T* left, const T* right, int64_t n) {
  IVDEP
  for (int64_t i = 0; i < n; ++i)
    to[i] = combine<c>(left[i], right[i]);
}

// For operations whose bits depend on the order: a row of accumulators for each lane.
template <Combine c, class T>
struct Interleaved {
  T lanes[kReduceLanes][kChunk];
  T pending[kLevelsInterleaved][kChunk];
  int64_t blocks;
  int count;

  static Interleaved& of(std::byte* p) { return *reinterpret_cast<Interleaved*>(p); }
  static void init(std::byte* p) { of(p).blocks = of(p).count = 0; }

  // Lanes without elements hold the identity and are skipped.
  void flush(int64_t used, int64_t n) {
    for (int half = kReduceLanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half && i + half < used; ++i)
        combine_rows<c>(lanes[i], lanes[i], lanes[i + half], n);
      used = std::min<int64_t>(used, half);
    }
    T* total = lanes[0];
    for (int64_t bits = blocks++; bits & 1; bits >>= 1)
      combine_rows<c>(total, pending[--count], total, n);
    std::memcpy(pending[count++], total, n * sizeof(T));
  }

  static void add(std::byte* p, const std::byte* elements, int64_t at, int64_t n) {
    Interleaved& s = of(p);
    const T* x = reinterpret_cast<const T*>(elements);
    int64_t in_block = at % kReduceBlock;
    T* lane = s.lanes[in_block % kReduceLanes];
    if (in_block < kReduceLanes) {
      T zero = identity<c, T>();
      for (int64_t i = 0; i < n; ++i)
        lane[i] = combine<c>(zero, x[i]);
    } else {
      combine_rows<c>(lane, lane, x, n);
    }
    if (in_block == kReduceBlock - 1) s.flush(kReduceLanes, n);
  }

  static void finish(std::byte* p, std::byte* result, int64_t n, int64_t count) {
    Interleaved& s = of(p);
    T* to = reinterpret_cast<T*>(result);
    int64_t rest = n % kReduceBlock;
    if (rest != 0) s.flush(std::min<int64_t>(rest, kReduceLanes), count);
    if (s.count == 0) {
      for (int64_t i = 0; i < count; ++i)
        to[i] = identity<c, T>();
      return;
    }
    std::memcpy(to, s.pending[--s.count], count * sizeof(T));
    while (s.count > 0)
      combine_rows<c>(to, s.pending[--s.count], to, count);
  }
};

// For operations whose bits do not depend on the order (integers, Max, Min): one row.
template <Combine c, class T>
struct InterleavedAnyOrder {
  T total[kChunk];
  static InterleavedAnyOrder& of(std::byte* p) { return *reinterpret_cast<InterleavedAnyOrder*>(p); }
  static void init(std::byte* p) {
    for (T& t : of(p).total)
      t = identity<c, T>();
  }
  static void add(std::byte* p, const std::byte* elements, int64_t, int64_t n) {
    combine_rows<c>(of(p).total, of(p).total, reinterpret_cast<const T*>(elements), n);
  }
  static void finish(std::byte* p, std::byte* result, int64_t, int64_t count) {
    std::memcpy(result, of(p).total, count * sizeof(T));
  }
};

template <Combine c, class T>
struct InterleavedPosition {
  T best[kChunk];
  int64_t position[kChunk];
  static InterleavedPosition& of(std::byte* p) { return *reinterpret_cast<InterleavedPosition*>(p); }
  static void init(std::byte* p) {
    for (int64_t& i : of(p).position)
      i = 0;
  }
  static void add(std::byte* p, const std::byte* elements, int64_t at, int64_t n) {
    InterleavedPosition& s = of(p);
    const T* x = reinterpret_cast<const T*>(elements);
    if (at == 0) {
      std::memcpy(s.best, x, n * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      T e = x[i], b = s.best[i];
      bool take = replaces<c>(e, b);
      s.best[i] = take ? e : b;
      s.position[i] = take ? at : s.position[i];
    }
  }
  static void finish(std::byte* p, std::byte* result, int64_t, int64_t count) {
    std::memcpy(result, of(p).position, count * sizeof(int64_t));
  }
};

template <class R>
const Reducer& reducer() {
  static constexpr Reducer r{sizeof(R), R::init, R::add, R::finish};
  return r;
}

template <Combine c, class T>
const Reducer& reducer_for(bool interleaved) {
  if constexpr (c == Combine::ArgMax || c == Combine::ArgMin) {
    return interleaved ? reducer<InterleavedPosition<c, T>>() : reducer<OneAxisPosition<c, T>>();
  } else {
    constexpr bool kOrdered = kIsFloat<T> && (c == Combine::Sum || c == Combine::Prod);
    if (!interleaved) return reducer<OneAxis<c, T>>();
    return reducer<std::conditional_t<kOrdered, Interleaved<c, T>, InterleavedAnyOrder<c, T>>>();
  }
}

}  // namespace

const Reducer& find_reducer(Combine c, DType type, bool interleaved) {
  return scalar::visit_dtype(type, [&]<class T>(std::type_identity<T>) -> const Reducer& {
    if constexpr (scalar::kIsCompute<T>) {
      switch (c) {
        case Combine::Sum: return reducer_for<Combine::Sum, T>(interleaved);
        case Combine::Prod: return reducer_for<Combine::Prod, T>(interleaved);
        case Combine::Max: return reducer_for<Combine::Max, T>(interleaved);
        case Combine::Min: return reducer_for<Combine::Min, T>(interleaved);
        case Combine::ArgMax: return reducer_for<Combine::ArgMax, T>(interleaved);
        case Combine::ArgMin: return reducer_for<Combine::ArgMin, T>(interleaved);
      }
    }
    INVARIANT(false, "reduction of " << sheaf::name_of(type));
    __builtin_unreachable();
  });
}

}  // namespace sheaf::codegen::block

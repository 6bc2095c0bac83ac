#include <cstring>

#include "codegen/block/loops.h"

// Steps that move elements without interpreting them: one form per element width.
namespace sheaf::codegen::block {
namespace {

template <class F>
Run by_width(int width, F f) {
  switch (width) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

template <class T, bool vc, bool va, bool vb>
void select(const BlockStep& s, RunState& c) {
  map3<vc, va, vb, T, bool>(s, c, [](bool p, T x, T y) { return p ? x : y; });
}

template <class T, bool varying>
void copy(const BlockStep& s, RunState& c) {
  if constexpr (varying)
    std::memmove(c.address[s.out], c.address[s.a], c.count * sizeof(T));
  else
    *at<T>(c, s.out) = *at<const T>(c, s.a);
}

template <class T>
void splat(const BlockStep& s, RunState& c) {
  T* out = at<T>(c, s.out);
  T x = *at<const T>(c, s.a);
  int64_t n = c.count;
  for (int64_t i = 0; i < n; ++i)
    out[i] = x;
}

void iota(const BlockStep& s, RunState& c) {
  int64_t* out = at<int64_t>(c, s.out);
  uint64_t stride = *at<const uint64_t>(c, s.b);
  uint64_t x = *at<const uint64_t>(c, s.a) + static_cast<uint64_t>(c.start) * stride;
  int64_t n = c.count;
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<int64_t>(x + static_cast<uint64_t>(i) * stride);
}

// Contiguous elements are not copied: the value points at them, unless `c` forbids it because a store comes before the
// last use.
template <class T>
void load_affine(const BlockStep& s, RunState& c) {
  int64_t stride = *at<const int64_t>(c, s.b);
  T* from = reinterpret_cast<T*>(c.buffers[s.imm]) + *at<const int64_t>(c, s.a) + c.start * stride;
  bool may_point = s.c == kNoId;
  if (stride == 1 && may_point) {
    c.address[s.out] = reinterpret_cast<std::byte*>(from);
    return;
  }
  T* out = reinterpret_cast<T*>(c.frame + s.own);
  c.address[s.out] = reinterpret_cast<std::byte*>(out);
  int64_t n = c.count;
  if (stride == 1) {
    std::memcpy(out, from, n * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i)
      out[i] = from[i * stride];
  }
}
template <class T>
void load_gather(const BlockStep& s, RunState& c) {
  const T* from = reinterpret_cast<const T*>(c.buffers[s.imm]);
  const int64_t* offset = at<const int64_t>(c, s.a);
  T* out = at<T>(c, s.out);
  int64_t n = c.count;
  IVDEP
  for (int64_t i = 0; i < n; ++i)
    out[i] = from[offset[i]];
}
template <class T>
void load_one(const BlockStep& s, RunState& c) {
  *at<T>(c, s.out) = reinterpret_cast<const T*>(c.buffers[s.imm])[*at<const int64_t>(c, s.a)];
}

template <class T, bool varying>
void store_affine(const BlockStep& s, RunState& c) {
  int64_t stride = *at<const int64_t>(c, s.b);
  T* to = reinterpret_cast<T*>(c.buffers[s.imm]) + *at<const int64_t>(c, s.a) + c.start * stride;
  const T* value = at<const T>(c, s.c);
  int64_t n = c.count;
  if constexpr (varying) {
    if (stride == 1) {
      std::memmove(to, value, n * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i)
        to[i * stride] = value[i];
    }
  } else {
    T x = *value;
    if (stride == 1) {
      for (int64_t i = 0; i < n; ++i)
        to[i] = x;
    } else {
      for (int64_t i = 0; i < n; ++i)
        to[i * stride] = x;
    }
  }
}
template <class T, bool varying>
void store_scatter(const BlockStep& s, RunState& c) {
  T* to = reinterpret_cast<T*>(c.buffers[s.imm]);
  const int64_t* offset = at<const int64_t>(c, s.a);
  const T* value = at<const T>(c, s.c);
  int64_t n = c.count;
  for (int64_t i = 0; i < n; ++i)
    to[offset[i]] = value[varying ? i : 0];
}
template <class T>
void store_one(const BlockStep& s, RunState& c) {
  reinterpret_cast<T*>(c.buffers[s.imm])[*at<const int64_t>(c, s.a)] = *at<const T>(c, s.c);
}

void point_into(const BlockStep& s, RunState& c) {
  c.address[s.out] = c.buffers[s.imm] + (*at<const int64_t>(c, s.a) + c.start) * s.own;
}

template <bool varying_condition, bool varying_payload>
void check(const BlockStep& s, RunState& c) {
  const bool* ok = at<const bool>(c, s.a);
  int64_t lane = 0;
  if constexpr (varying_condition) {
    int64_t n = c.count;
    bool all = true;
    for (int64_t i = 0; i < n; ++i)
      all &= ok[i];
    if (all) return;
    while (ok[lane])
      ++lane;
  } else if (*ok) {
    return;
  }
  loop::CheckRecord record{static_cast<int32_t>(s.imm), at<const int64_t>(c, s.b)[varying_payload ? lane : 0]};
  if (!c.in_chunk) {
    if (!c.check->failed()) *c.check = record;
  } else if (lane < c.failed_lane) {
    // The chunk runs statement by statement, but failures are ordered by iteration.
    c.failed_lane = lane;
    c.pending = record;
  }
}

}  // namespace

Run find_select(int width, Shape cond, Shape a, Shape b) {
  bool vc = cond == Shape::Varying, va = a == Shape::Varying, vb = b == Shape::Varying;
  return by_width(width, [&]<class T>(T) -> Run {
    if (!vc) return !va && !vb ? select<T, false, false, false> : va && vb ? select<T, false, true, true> : nullptr;
    return va ? (vb ? select<T, true, true, true> : select<T, true, true, false>)
              : (vb ? select<T, true, false, true> : select<T, true, false, false>);
  });
}
Run find_copy(int width, bool varying) {
  return by_width(width, [&]<class T>(T) -> Run { return varying ? copy<T, true> : copy<T, false>; });
}
Run find_splat(int width) {
  return by_width(width, [&]<class T>(T) -> Run { return splat<T>; });
}
Run find_iota() { return iota; }
Run find_load(int width, bool affine) {
  return by_width(width, [&]<class T>(T) -> Run { return affine ? load_affine<T> : load_gather<T>; });
}
Run find_load_one(int width) {
  return by_width(width, [&]<class T>(T) -> Run { return load_one<T>; });
}
Run find_store(int width, bool affine, Shape value) {
  bool varying = value == Shape::Varying;
  return by_width(width, [&]<class T>(T) -> Run {
    if (affine) return varying ? store_affine<T, true> : store_affine<T, false>;
    return varying ? store_scatter<T, true> : store_scatter<T, false>;
  });
}
Run find_store_one(int width) {
  return by_width(width, [&]<class T>(T) -> Run { return store_one<T>; });
}
Run find_point_into() { return point_into; }
Run find_check(Shape cond, Shape payload) {
  if (cond == Shape::Varying) return payload == Shape::Varying ? check<true, true> : check<true, false>;
  return payload == Shape::Varying ? check<false, true> : check<false, false>;
}

}  // namespace sheaf::codegen::block

// Random arrays for the tests of ops, contiguous or stored in odd ways.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "tensor/tensor.h"

namespace sheaf::ops {

// Every test draws from one of these and prints the seed when it fails; SHEAF_SEED=n replays it.
struct Rng {
  uint64_t seed;
  std::mt19937_64 bits;
  explicit Rng(uint64_t s) : seed(s), bits(s) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  double uniform(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(bits); }
};
inline uint64_t test_seed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("SHEAF_SEED");
    return text ? std::strtoull(text, nullptr, 10) : uint64_t{std::random_device{}()};
  }();
  return seed;
}

// Calls f(element number in row-major order, address).
template <class F>
void for_each_element(const Tensor& t, F&& f) {
  int64_t k = 0, width = size_bytes(t.dtype);
  for_each_offset(t, [&](int64_t offset) { f(k++, t.buffer->host_mut() + offset * width); });
}

inline void store_number(DType d, std::byte* p, double v) {
  if (is_inexact(d))
    store_double(d, p, v);
  else
    store_int(d, p, static_cast<int64_t>(std::floor(v)));
}

// Uniform in [lo, hi); integers rounded down, unsigned ones from 0 on.
inline Tensor uniform_tensor(Rng& rng, DType dtype, const Dims& sizes, double lo = -3, double hi = 3) {
  Tensor t = empty_tensor(dtype, sizes);
  if (dtype == DType::U32 || dtype == DType::U8 || dtype == DType::U16) lo = std::max(lo, 0.0);
  for_each_element(t, [&](int64_t, std::byte* p) {
    if (dtype == DType::Bool)
      store_int(dtype, p, rng.below(2));
    else
      store_number(dtype, p, rng.uniform(lo, hi));
    if (is_complex(dtype)) store_number(DType::F32, p + sizeof(float), rng.uniform(lo, hi));
  });
  return t;
}

// Any values at all: small and large numbers, zeros of both signs, infinities, NaN, denormals.
inline Tensor wild_tensor(Rng& rng, DType dtype, const Dims& sizes) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double special[] = {0.0,  -0.0, inf,  -inf, std::nan(""), 1e-310, -1e-40,
                            6e-8, 1.0,  -1.0, 0.5,  3e38,         65504,  1e30};
  Tensor t = empty_tensor(dtype, sizes);
  auto any_float = [&] { return rng.below(4) == 0 ? special[rng.below(std::size(special))] : rng.uniform(-3, 3); };
  for_each_element(t, [&](int64_t, std::byte* p) {
    if (dtype == DType::Bool)
      store_int(dtype, p, rng.below(2));
    else if (is_inexact(dtype))
      store_double(dtype, p, any_float());
    else
      store_int(dtype, p, rng.below(3) == 0 ? static_cast<int64_t>(rng.bits()) : rng.below(7) - 3);
    if (is_complex(dtype)) store_double(DType::F32, p + sizeof(float), any_float());
  });
  return t;
}

// Numbers that differ by at least `step` from each other and from zero, so that no kink of max, sort or abs is near.
inline Tensor separate_tensor(Rng& rng, DType dtype, const Dims& sizes, double step = 0.05) {
  Tensor t = empty_tensor(dtype, sizes);
  std::vector<double> values(t.num_elems());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<double>(i / 2) + 0.6) * step * 2 * (i % 2 ? 1 : -1) + rng.uniform(0, step / 4);
  std::shuffle(values.begin(), values.end(), rng.bits);
  for_each_element(t, [&](int64_t k, std::byte* p) { store_number(dtype, p, values[k]); });
  return t;
}

// Arrays with no two numbers near each other.
inline std::vector<Tensor> separate_tensors(Rng& rng, DType dtype, const std::vector<Dims>& sizes) {
  std::vector<Tensor> out;
  int64_t total = 0, next = 0;
  for (const Dims& s : sizes) {
    out.push_back(empty_tensor(dtype, s));
    total += out.back().num_elems();
  }
  Tensor all = separate_tensor(rng, dtype, {total});
  for (Tensor& t : out)
    for_each_element(t, [&](int64_t, std::byte* p) { store_number(dtype, p, element_as_double(all, next++)); });
  return out;
}

inline Tensor index_tensor(Rng& rng, const Dims& sizes, int64_t n) {
  Tensor t = empty_tensor(DType::I64, sizes);
  for_each_element(t, [&](int64_t, std::byte* p) { store_int(DType::I64, p, n > 0 ? rng.below(n) : 0); });
  return t;
}

// How the elements lie in memory.
enum class Storage { Contiguous, Transposed, Stepped, Flipped, Stretched };
inline constexpr Storage kStorages[] = {Storage::Contiguous, Storage::Transposed, Storage::Stepped, Storage::Flipped,
                                        Storage::Stretched};
inline const char* name_of(Storage s) {
  constexpr const char* names[] = {"contiguous", "transposed", "stepped", "flipped", "stretched"};
  return names[static_cast<int>(s)];
}

// The same elements stored another way. Stretched keeps only the first slice of axis 0 and repeats it.
inline Tensor stored_as(const Tensor& t, Storage how) {
  if (t.rank() == 0 || how == Storage::Contiguous) return t;
  Dims room = t.sizes;
  if (how == Storage::Stretched) {
    Tensor out = contiguous(t);
    if (out.sizes[0] > 0) out.strides[0] = 0;
    return out;
  }
  if (how == Storage::Transposed) std::reverse(room.begin(), room.end());
  if (how == Storage::Stepped)
    for (int64_t& n : room)
      n = 2 * n + 1;
  Tensor out = zeros_tensor(t.dtype, room);
  out.sizes = t.sizes;
  if (how == Storage::Transposed) std::reverse(out.strides.begin(), out.strides.end());
  for (int a = 0; a < t.rank(); ++a) {
    if (how == Storage::Stepped) {
      out.offset += out.strides[a];
      out.strides[a] *= 2;
    } else if (how == Storage::Flipped && t.sizes[a] > 0) {
      out.offset += out.strides[a] * (t.sizes[a] - 1);
      out.strides[a] = -out.strides[a];
    }
  }
  int width = size_bytes(t.dtype);
  std::vector<const std::byte*> from;
  for_each_element(t, [&](int64_t, std::byte* p) { from.push_back(p); });
  for_each_element(out, [&](int64_t k, std::byte* p) { std::copy(from[k], from[k] + width, p); });
  return out;
}

// Equal to the bit; any NaN equals any other.
inline ::testing::AssertionResult same_bits(const Tensor& expected, const Tensor& actual) {
  if (expected.dtype != actual.dtype || !(expected.sizes == actual.sizes))
    return ::testing::AssertionFailure() << "expected " << sheaf::name_of(expected.dtype) << shape_text(expected.sizes)
                                         << ", got " << sheaf::name_of(actual.dtype) << shape_text(actual.sizes);
  std::vector<const std::byte*> bytes;
  for_each_element(expected, [&](int64_t, std::byte* p) { bytes.push_back(p); });
  ::testing::AssertionResult result = ::testing::AssertionSuccess();
  int width = size_bytes(expected.dtype);
  for_each_element(actual, [&](int64_t k, std::byte* p) {
    if (!result || std::equal(p, p + width, bytes[k])) return;
    const DType part = is_complex(expected.dtype) ? DType::F32 : expected.dtype;
    double x = 0, y = 0;
    bool same = true;
    for (int at = 0; at < width; at += size_bytes(part)) {
      if (!same || std::equal(p + at, p + at + size_bytes(part), bytes[k] + at)) continue;
      x = load_double(part, bytes[k] + at), y = load_double(part, p + at);
      same = is_float(part) && std::isnan(x) && std::isnan(y);
    }
    if (same) return;
    result = ::testing::AssertionFailure()
             << "element " << k << " of " << shape_text(expected.sizes) << ": expected " << x << ", got " << y;
  });
  return result;
}

}  // namespace sheaf::ops

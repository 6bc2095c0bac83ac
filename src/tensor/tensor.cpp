#include "tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "support/error.h"
#include "tensor/saturated.h"

namespace sheaf {

void release_converted(const Tensor& t) {
  constexpr int64_t kLeast = 1 << 20;  // bytes: less is not worth a call of the system
  int64_t bytes = t.num_elems() * size_bytes(t.dtype);
  if (t.buffer->origin() == Buffer::Origin::File && bytes >= kLeast && t.is_contiguous())
    t.buffer->release_pages(t.bytes(), static_cast<size_t>(bytes));
}

int64_t Tensor::num_elems() const {
  int64_t n = 1;
  for (int64_t d : sizes)
    n = saturated_mul(n, d);
  return n;
}

bool Tensor::is_contiguous() const {
  int64_t expect = 1;
  for (int a = rank() - 1; a >= 0; --a) {
    if (sizes[a] == 0) return true;
    if (sizes[a] != 1 && strides[a] != expect) return false;
    expect = saturated_mul(expect, sizes[a]);
  }
  return true;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims s(sizes.size());
  int64_t stride = 1;
  for (size_t a = sizes.size(); a-- > 0;) {
    s[a] = stride;
    // Only a tensor without elements can have axes as long as that: its strides are never used.
    stride = saturated_mul(stride, std::max<int64_t>(sizes[a], 1));
  }
  return s;
}

Extent extent_of(const Dims& sizes, const Dims& strides) {
  int64_t first = 0, last = 0;
  for (size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] == 0) return {};
    const int64_t reach = strides[a] * (sizes[a] - 1);
    (reach < 0 ? first : last) += reach;
  }
  return {first, last - first + 1};
}

int64_t checked_num_elems(const Dims& sizes) {
  if (sizes.size() > kMaxRank)
    throw runtime_error(fmt::format("a tensor of rank {} is not supported (at most {})", sizes.size(), kMaxRank));
  // Also of an empty one: who goes along its rows would never come to an end.
  bool zero = false;
  int64_t n = 1, bytes;
  for (int64_t d : sizes)
    if (d == 0)
      zero = true;
    else if (d < 0 || __builtin_mul_overflow(n, d, &n) || __builtin_mul_overflow(n, int64_t{16}, &bytes))
      throw runtime_error("out of memory: a tensor of shape " + shape_text(sizes) + " is too large");
  return zero ? 0 : n;
}

Tensor empty_tensor(DType dtype, Dims sizes) { return empty_tensor(host_space(), dtype, std::move(sizes)); }

Tensor empty_tensor(Space& space, DType dtype, Dims sizes) {
  int64_t n = checked_num_elems(sizes);
  Tensor t;
  t.dtype = dtype;
  t.strides = contiguous_strides(sizes);
  t.sizes = std::move(sizes);
  t.buffer = Buffer::allocate(space, static_cast<size_t>(n) * size_bytes(dtype));
  return t;
}

Tensor zeros_tensor(DType dtype, Dims sizes) {
  Tensor t = empty_tensor(dtype, std::move(sizes));
  std::memset(t.buffer->host_mut(), 0, t.buffer->size_bytes());
  return t;
}

namespace {

// rows x columns elements, `down` and `along` apart, to contiguous memory. In squares when the source runs down the
// columns: a row at a time would touch a new cache line for every element.
template <class T>
void copy_matrix(const T* from, int64_t rows, int64_t columns, int64_t down, int64_t along, T* to) {
  constexpr int64_t kSquare = 32;
  if (along == 1) {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * columns, from + r * down, columns * sizeof(T));
    return;
  }
  int64_t step = down == 1 ? kSquare : columns;
  for (int64_t begin = 0; begin < columns; begin += step)
    for (int64_t r0 = 0; r0 < rows; r0 += kSquare)
      for (int64_t r = r0; r < std::min(rows, r0 + kSquare); ++r)
        for (int64_t c = begin; c < std::min(columns, begin + step); ++c)
          to[r * columns + c] = from[r * down + c * along];
}

// Matrices of the last two axes, one for each position of the others.
template <class T>
void gather_elements(const Tensor& from, T* to) {
  int rank = from.rank();  // at least 1: a 0-d tensor is contiguous
  int64_t columns = from.sizes[rank - 1], rows = rank > 1 ? from.sizes[rank - 2] : 1;
  if (rows * columns == 0) return;
  Tensor outer = from;
  outer.sizes.resize(std::max(rank - 2, 0));
  outer.strides.resize(outer.sizes.size());
  const T* base = reinterpret_cast<const T*>(from.buffer->host());
  for_each_offset(outer, [&](int64_t off) {
    copy_matrix(base + off, rows, columns, rank > 1 ? from.strides[rank - 2] : 0, from.strides[rank - 1], to);
    to += rows * columns;
  });
}

void copy_elements(const Tensor& from, const Tensor& to) {
  if (from.is_contiguous()) {
    if (from.num_elems() > 0) std::memcpy(to.bytes_mut(), from.bytes(), from.num_elems() * size_bytes(from.dtype));
    return;
  }
  switch (size_bytes(from.dtype)) {
    case 1: gather_elements(from, to.data_mut<uint8_t>()); break;
    case 2: gather_elements(from, to.data_mut<uint16_t>()); break;
    case 4: gather_elements(from, to.data_mut<uint32_t>()); break;
    default: gather_elements(from, to.data_mut<uint64_t>()); break;
  }
}

Tensor copied(const Tensor& t, DType to) {
  Space& home = t.buffer->home();
  Tensor out = empty_tensor(home, to, t.sizes);
  home.copy(t, out);
  return out;
}

}  // namespace

Tensor copy_of(const Tensor& t) { return copied(t, t.dtype); }

Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : copy_of(t); }

int64_t saturate_to_int(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 9223372036854775807.0) return std::numeric_limits<int64_t>::max();
  if (v <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

double load_double(DType d, const std::byte* p) {
  auto as = [&]<class T>(T) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (d) {
    case DType::F32: return as(float{});
    case DType::F64: return as(double{});
    case DType::BF16: return bf16_to_f32(as(uint16_t{}));
    case DType::F16: return f16_to_f32(as(uint16_t{}));
    case DType::I32: return as(int32_t{});
    case DType::I64: return static_cast<double>(as(int64_t{}));
    case DType::U32: return as(uint32_t{});
    case DType::Bool: return as(uint8_t{}) != 0;
    case DType::I8: return as(int8_t{});
    case DType::U8: return as(uint8_t{});
    case DType::I16: return as(int16_t{});
    case DType::U16: return as(uint16_t{});
    case DType::C64: return as(float{});
  }
  return 0;
}

namespace {

int64_t load_int(DType d, const std::byte* p) {
  if (d == DType::I64) {
    int64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  return saturate_to_int(load_double(d, p));
}

int64_t clamp_int(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

}  // namespace

void store_int(DType d, std::byte* p, int64_t v) {
  auto put = [&]<class T>(T x) { std::memcpy(p, &x, sizeof x); };
  switch (d) {
    case DType::F32: put(static_cast<float>(v)); break;
    case DType::F64: put(static_cast<double>(v)); break;
    case DType::BF16: put(f32_to_bf16(static_cast<float>(v))); break;
    case DType::F16: put(f32_to_f16(static_cast<float>(v))); break;
    case DType::I32: put(static_cast<int32_t>(v)); break;
    case DType::I64: put(v); break;
    case DType::U32: put(static_cast<uint32_t>(v)); break;
    case DType::Bool: put(static_cast<uint8_t>(v != 0)); break;
    case DType::I8:
    case DType::U8: put(static_cast<uint8_t>(v)); break;
    case DType::I16:
    case DType::U16: put(static_cast<uint16_t>(v)); break;
    case DType::C64: put(std::complex<float>(static_cast<float>(v))); break;
  }
}

void store_double(DType d, std::byte* p, double v) {
  auto put = [&]<class T>(T x) { std::memcpy(p, &x, sizeof x); };
  switch (d) {
    case DType::F32: put(static_cast<float>(v)); break;
    case DType::F64: put(v); break;
    case DType::BF16: put(f32_to_bf16(static_cast<float>(v))); break;
    case DType::F16: put(f32_to_f16(static_cast<float>(v))); break;
    case DType::Bool: put(static_cast<uint8_t>(v != 0)); break;
    case DType::I32: store_int(d, p, clamp_int(saturate_to_int(v), INT32_MIN, INT32_MAX)); break;
    case DType::I64: store_int(d, p, saturate_to_int(v)); break;
    case DType::U32: store_int(d, p, clamp_int(saturate_to_int(v), 0, UINT32_MAX)); break;
    case DType::I8: store_int(d, p, clamp_int(saturate_to_int(v), INT8_MIN, INT8_MAX)); break;
    case DType::U8: store_int(d, p, clamp_int(saturate_to_int(v), 0, UINT8_MAX)); break;
    case DType::I16: store_int(d, p, clamp_int(saturate_to_int(v), INT16_MIN, INT16_MAX)); break;
    case DType::U16: store_int(d, p, clamp_int(saturate_to_int(v), 0, UINT16_MAX)); break;
    case DType::C64: put(std::complex<float>(static_cast<float>(v))); break;
  }
}

Tensor cast_tensor(const Tensor& t, DType to) { return t.dtype == to ? t : copied(t, to); }

void copy_on_host(const Tensor& from, const Tensor& to) {
  if (from.dtype == to.dtype) return copy_elements(from, to);
  std::byte* p = to.bytes_mut();
  const int step = size_bytes(to.dtype), width = size_bytes(from.dtype);
  const std::byte* base = from.buffer->host();
  const bool int_to_int = !is_inexact(from.dtype) && !is_inexact(to.dtype);
  for_each_offset(from, [&](int64_t off) {
    const std::byte* q = base + off * width;
    if (int_to_int)
      store_int(to.dtype, p, load_int(from.dtype, q));
    else
      store_double(to.dtype, p, load_double(from.dtype, q));
    p += step;
  });
}

Tensor select_axis0(const Tensor& t, int64_t index) {
  Tensor out = t;
  out.offset += index * t.strides[0];
  out.sizes.erase(out.sizes.begin());
  out.strides.erase(out.strides.begin());
  return out;
}

Tensor reshaped(const Tensor& t, Dims sizes) {
  Tensor out = contiguous(t);
  out.strides = contiguous_strides(sizes);
  out.sizes = std::move(sizes);
  return out;
}

namespace {

const std::byte* element_address(const Tensor& t, int64_t flat) {
  int64_t off = t.offset;
  for (int a = t.rank() - 1; a >= 0; --a) {
    off += flat % t.sizes[a] * t.strides[a];
    flat /= t.sizes[a];
  }
  return t.buffer->host() + off * size_bytes(t.dtype);
}

}  // namespace

double element_as_double(const Tensor& t, int64_t flat) { return load_double(t.dtype, element_address(t, flat)); }
int64_t element_as_int(const Tensor& t, int64_t flat) { return load_int(t.dtype, element_address(t, flat)); }

}  // namespace sheaf

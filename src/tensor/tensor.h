// Concrete arrays: a dtype, sizes, strides and a counted buffer. Copying a Tensor copies the handle; views share the
// buffer. Contents are immutable once a tensor is visible to the language: only its maker, or an owner that holds the
// only reference (`unique()`), writes.
#pragma once
#include <algorithm>
#include <cstddef>

#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/size.h"

namespace sheaf {

inline constexpr int kMaxRank = 32;

struct Tensor {
  DType dtype = DType::F32;
  Dims sizes;
  Dims strides;        // in elements; 0 on stretched axes, negative on flipped ones
  int64_t offset = 0;  // in elements
  Ref<Buffer> buffer;

  int rank() const { return static_cast<int>(sizes.size()); }
  int64_t num_elems() const;
  bool is_contiguous() const;
  // For reading on the host, wherever the elements are; the first one is the element with all indices 0.
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(buffer->host()) + offset;
  }
  const std::byte* bytes() const { return buffer->host() + offset * size_bytes(dtype); }
  // For the maker of an array on the host.
  template <class T>
  T* data_mut() const {
    return reinterpret_cast<T*>(buffer->host_mut()) + offset;
  }
  std::byte* bytes_mut() const { return buffer->host_mut() + offset * size_bytes(dtype); }
};

Dims contiguous_strides(const Dims& sizes);
// Which elements of its memory an array touches: `count` of them from `first` on, seen from the element with all
// indices 0. None where it has no elements; those between two that it touches are counted.
struct Extent {
  int64_t first = 0, count = 0;
};
Extent extent_of(const Dims& sizes, const Dims& strides);
// Product of the sizes; throws UserError if it (times 8) overflows.
int64_t checked_num_elems(const Dims& sizes);

Tensor empty_tensor(DType dtype, Dims sizes);
Tensor empty_tensor(Space& space, DType dtype, Dims sizes);
Tensor zeros_tensor(DType dtype, Dims sizes);
// These work where the elements are (Space::copy). A contiguous tensor with the same elements (itself if it already
// is).
Tensor contiguous(const Tensor& t);
// Fresh contiguous copy, never shared.
Tensor copy_of(const Tensor& t);
Tensor cast_tensor(const Tensor& t, DType to);
// Space::copy of the host.
void copy_on_host(const Tensor& from, const Tensor& to);
// For a tensor whose content has just been converted as a whole, and will hardly be read again in its old form: a large
// one in a mapped file no longer counts as memory of the process.
void release_converted(const Tensor& t);

// Views. Arguments are already checked.
Tensor select_axis0(const Tensor& t, int64_t index);  // drops axis 0
// The view with the given sizes, or a contiguous copy when strides do not allow it.
Tensor reshaped(const Tensor& t, Dims sizes);

// One element, widened, of a complex one the real part; `flat` counts in row-major order.
double element_as_double(const Tensor& t, int64_t flat);
int64_t element_as_int(const Tensor& t, int64_t flat);  // float: truncated and saturated, NaN 0
// The element at an address, widened; of a complex one the real part, and stored without an imaginary one.
double load_double(DType d, const std::byte* p);
void store_double(DType d, std::byte* p, double v);
void store_int(DType d, std::byte* p, int64_t v);
int64_t saturate_to_int(double v);

// Calls f(element offset) for every element in row-major order.
template <class F>
void for_each_offset(const Tensor& t, F&& f) {
  int r = t.rank();
  int64_t n = t.num_elems();
  if (n == 0) return;
  if (t.is_contiguous()) {
    for (int64_t i = 0; i < n; ++i)
      f(t.offset + i);
    return;
  }
  Dims idx(r, 0);
  int64_t off = t.offset;
  for (int64_t k = 0; k < n; ++k) {
    f(off);
    for (int a = r - 1; a >= 0; --a) {
      off += t.strides[a];
      if (++idx[a] < t.sizes[a]) break;
      off -= t.strides[a] * t.sizes[a];
      idx[a] = 0;
    }
  }
}

template <class T>
Tensor tensor_of(DType dtype, Dims sizes, const T* values) {
  Tensor t = empty_tensor(dtype, std::move(sizes));
  std::copy(values, values + t.num_elems(), t.data_mut<T>());
  return t;
}

}  // namespace sheaf

// Iterates over the cache lines of a submatrix in memory order, to prefetch them. Packing reads a few bytes of many
// rows in alternation; the hardware prefetcher recognizes no stream in that.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/gemm/packing.h"

namespace sheaf::kernels {

inline constexpr int64_t kLineBytes = 64;

// A submatrix in memory: `runs` contiguous runs of `lines` cache lines each, `apart` bytes apart.
struct MatrixLines {
  const std::byte* first = nullptr;
  int64_t runs = 0, apart = 0, lines = 0;

  // `rows` of the major axis, `columns` elements in each.
  template <class T>
  static MatrixLines of(const T* first, int64_t rows, int64_t apart, int64_t columns) {
    const auto bytes = static_cast<int64_t>(sizeof(T));
    return {reinterpret_cast<const std::byte*>(first), rows, apart * bytes, (columns * bytes - 1) / kLineBytes + 1};
  }
  // `used` rows of A or columns of B, by k terms; empty if the matrix is contiguous in neither direction.
  template <class S>
  static MatrixLines of(const MatrixView<S>& m, int64_t i, int64_t l, int64_t used, int64_t k) {
    if (used <= 0 || k <= 0) return {};
    if (m.k == 1) return of(m.at(i, l), used, m.minor, k);
    if (m.minor == 1) return of(m.at(i, l), k, m.k, used);
    return {};
  }
};

class LineCursor {
 public:
  LineCursor() = default;
  explicit LineCursor(const MatrixLines& m) : m_(m) {}
  bool at_end() const { return run_ >= m_.runs; }
  const std::byte* take() {
    const std::byte* at = m_.first + run_ * m_.apart + line_ * kLineBytes;
    if (++line_ == m_.lines) line_ = 0, ++run_;
    return at;
  }

 private:
  MatrixLines m_;
  int64_t run_ = 0, line_ = 0;
};

}  // namespace sheaf::kernels

// Shared parts of attention and its gradient: the table of inner loops, one for each instruction set (tile_code.h and
// row_code.h have their code), and the operands of a head. Internal to this folder.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "kernels/simd/by_element.h"
#include "kernels/simd/narrow.h"
#include "kernels/tasks.h"
#include "routines/attention/args.h"
#include "scalar/scalar_ops.h"
#include "support/error.h"

namespace sheaf::kernels {

using routines::AttentionArgs;
using routines::AttentionVjpArgs;
using routines::ColumnRange;
using routines::kAttentionBlock;
using routines::kAttentionRows;
using routines::MaskKind;
using scalar::convert;

// The initial value of a sum over a block of columns: 0, the previous sum, or the previous sum times a factor.
enum class Start { Zero, Before, Scaled };

// Kernels for a single row that read k and v, whose elements are E.
template <class T, class E>
struct RowReaders {
  void (*scores)(int64_t n, int64_t depth, const T* q, const E* k, int64_t ldk, T* s);
  void (*add_rows)(int64_t n, int64_t width, const T* p, const E* v, int64_t ldv, T* y, bool first, T factor);
};
template <class T>
struct RowKernels {
  void (*weigh)(int64_t n, T* s, bool first, T* m, T* l, T* factor);
  ByElement<T, RowReaders> readers;
};

// Copies rows of elements E, `row` elements apart, as T.
template <class T, class E>
struct RowCopies {
  // to[e][i] = factor from[i][e] for i < n, e < width; rows of `to` are padded with zeros to `ld`.
  void (*transpose)(int64_t n, int64_t width, const E* from, int64_t row, T factor, T* to, int64_t ld);
  // to[i][e] = from[i][e]; rows of `to` are padded with zeros to `padded`.
  void (*widen)(int64_t n, int64_t width, const E* from, int64_t row, T* to, int64_t padded);
};

template <class T>
struct AttentionKernels {
  int64_t lanes;
  void (*rows_times)(int64_t n, int64_t width, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* out,
                     int64_t ldo, bool add);
  void (*columns_times)(int64_t n, int64_t width, int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb,
                        T* out, int64_t ldo, Start start, const T* factor);
  void (*weigh)(int64_t n, T* s, int64_t ld, int64_t width, bool first, T* m, T* l, T* factor);
  void (*join)(int64_t n, T* m, T* l, const T* m2, const T* l2, T* first, T* second);
  void (*reverse)(int64_t n, T* s, T* dp, int64_t ld, int64_t width, const T* lse, const T* delta);
  ByElement<T, RowCopies> copies;
  void (*hide)(int64_t n, int64_t width, const T* first, const T* last, int64_t seen, int64_t unseen, T value, T* s,
               int64_t ld);
  void (*scale_rows)(int64_t n, int64_t width, const T* from, int64_t ld, const T* factor, int64_t step, T* to,
                     int64_t ldo);
  void (*conclude)(int64_t n, const T* m, const T* l, T* lse, T* inverse);
  RowKernels<T> row_alone;
};

// The kernels for this processor's instruction set, for float and double.
template <class T>
const AttentionKernels<T>& attention_kernels();

// bf16 attention on a matrix unit (forward_tiles.cpp, backward_tiles.cpp).
void attention_by_tiles(const routines::RoutineCall& call, const AttentionArgs<>& args);
void attention_vjp_by_tiles(const routines::RoutineCall& call, const AttentionVjpArgs<>& args);

// Arrays in memory that the thread keeps between calls; workspaces alive at the same time have a different `use`.
template <class T, int use = 0>
class Workspace {
 public:
  static constexpr int64_t kAlign = 64 / sizeof(T);
  explicit Workspace(int64_t elements) {
    static thread_local std::unique_ptr<std::byte[]> memory;
    static thread_local size_t capacity = 0;
    size_t bytes = elements * sizeof(T) + 64;
    if (bytes > capacity) {
      memory.reset();
      memory.reset(new std::byte[bytes]);
      capacity = bytes;
    }
    next_ = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64);
  }
  T* take(int64_t elements) { return std::exchange(next_, next_ + round_up(elements, kAlign)); }

 private:
  T* next_;
};

// Rows of an operand of a product, `row` elements apart.
template <class T>
struct Side {
  const T* data;
  int64_t row;
};

// A strided matrix in memory. side() gives its rows as T, contiguous and padded: in place, or copied.
template <class S, class T>
struct MatrixRows {
  const S* data;
  int64_t row, element;  // strides
  // Rows that are not contiguous with each other are copied if several groups of rows read them: the rows of one head
  // among others have a large stride and would map to few sets of the cache.
  Side<T> side(int64_t begin, int64_t n, int64_t width, int64_t padded, int64_t readers, T* copied) const {
    if (std::is_same_v<S, T> && element == 1 && width == padded && (row == width || readers == 1))
      return {reinterpret_cast<const T*>(data) + begin * row, row};
    copy(begin, n, width, padded, copied);
    return {copied, padded};
  }
  void copy(int64_t begin, int64_t n, int64_t width, int64_t padded, T* to) const {
    if (element == 1)
      return attention_kernels<T>().copies.of(data).widen(n, width, data + begin * row, row, to, padded);
    for (int64_t i = 0; i < n; ++i, to += padded) {
      const S* from = data + (begin + i) * row;
      for (int64_t e = 0; e < width; ++e)
        to[e] = convert<T>(from[e * element]);
      std::fill(to + width, to + padded, T(0));
    }
  }
  // Transposes `n` rows from `begin` on to to[e][rows]; missing rows are zero.
  void transpose(int64_t begin, int64_t n, int64_t width, int64_t rows, T factor, T* to) const {
    if (element == 1)
      return attention_kernels<T>().copies.of(data).transpose(n, width, data + begin * row, row, factor, to, rows);
    for (int64_t e = 0; e < width; ++e)
      for (int64_t i = 0; i < rows; ++i)
        to[e * rows + i] = i < n ? convert<T>(data[(begin + i) * row + e * element]) * factor : T(0);
  }
};

// to[i][e] = factor[i step] from[i][e]; `ld` and `ldo` are the leading dimensions of `from` and `to`.
template <class T, class S>
void store_scaled(int64_t n, int64_t width, const T* from, int64_t ld, const T* factor, int64_t step, S* to,
                  int64_t ldo) {
  const auto scale = attention_kernels<T>().scale_rows;
  if constexpr (std::is_same_v<T, S>) {
    scale(n, width, from, ld, factor, step, to, ldo);
  } else {
    constexpr int64_t kPart = 256;
    T scaled[kPart];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t e = 0; e < width; e += kPart) {
        const int64_t part = std::min(kPart, width - e);
        scale(1, part, from + i * ld + e, ld, factor + i * step, step, scaled, part);
        narrow(to + i * ldo + e, scaled, part);
      }
  }
}

// The columns of [begin, end), counted from `begin`, that each of n rows from i on may see by position. Cached from one
// head to the next, for which it is mostly the same.
template <class T>
class View {
 public:
  void look(const routines::Sight& sight, int64_t i, int64_t n, int64_t begin, int64_t end) {
    Place place{sight, i, n, begin, end};
    if (place_ == place) return;
    place_ = place;
    seen_ = 0, unseen_ = kAttentionBlock;
    for (int64_t r = 0; r < kAttentionRows; ++r) {
      ColumnRange range = r < n ? sight.range(i + r, i + r) : ColumnRange{begin, begin + kAttentionBlock};
      int64_t first = std::clamp<int64_t>(range.begin - begin, 0, kAttentionBlock),
              last = std::clamp<int64_t>(range.end - begin, 0, kAttentionBlock);
      first_[r] = static_cast<T>(first), last_[r] = static_cast<T>(last);
      seen_ = std::max(seen_, first), unseen_ = std::min(unseen_, last);
    }
  }
  // Stores `value` to s[column][row] where a row does not see a column; `width` rows including padding, leading
  // dimension `ld`.
  void hide(T value, T* s, int64_t width, int64_t ld) const {
    int64_t columns = place_->end - place_->begin;
    if (seen_ == 0 && unseen_ >= columns) return;
    attention_kernels<T>().hide(columns, width, first_, last_, seen_, unseen_, value, s, ld);
  }

 private:
  struct Place {
    routines::Sight sight;
    int64_t i, n, begin, end;
    bool operator==(const Place&) const = default;
  };
  std::optional<Place> place_;
  int64_t seen_ = 0, unseen_ = 0;  // the columns [seen_, unseen_) are visible to all rows
  T first_[kAttentionRows], last_[kAttentionRows];
};

// The views of the panels of a group of rows.
template <class T>
struct Views {
  View<T> each[kAttentionRows / 4];
  View<T>& at(int64_t row) { return each[row % kAttentionRows / 4]; }
};

// One head of one element of the batch.
template <class S, class T>
struct Head {
  const AttentionArgs<>& a;
  T scale;
  routines::Sight sight;
  MatrixRows<S, T> q, k, v;
  const std::byte* mask;  // at row 0, column 0

  Head(const AttentionArgs<>& a, const routines::RoutineCall& call, int mask_buffer, int64_t b, int64_t h)
      : a(a),
        scale(call.buffer<const T>(3)[b * a.scale]),
        sight(a, call.buffer<const int64_t>(4)[b * a.offset], call.buffer<const int64_t>(5)[b * a.window]) {
    int64_t g = h / a.heads_per_group();
    auto rows = [&](int buffer, const std::array<int64_t, 4>& strides, int64_t head) {
      return MatrixRows<S, T>{call.buffer<const S>(buffer) + b * strides[0] + head * strides[1], strides[2],
                              strides[3]};
    };
    q = rows(0, a.q, h);
    k = rows(1, a.k, g);
    v = rows(2, a.v, g);
    mask = nullptr;
    if (a.mask != MaskKind::None)
      mask = call.buffers[mask_buffer] + (b * a.mask_strides[0] + h * a.mask_strides[1]) *
                                             static_cast<int64_t>(a.mask == MaskKind::Bool ? 1 : sizeof(S));
  }

  const bool* shown(int64_t i) const { return reinterpret_cast<const bool*>(mask) + i * a.mask_strides[2]; }

  // How much of columns [begin, end) a Bool mask shows to rows [first, last].
  enum class Shown { Nothing, Some, Everything };
  Shown shown(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    if (a.mask != MaskKind::Bool) return Shown::Everything;
    bool any = false, all = true;
    int64_t step = a.mask_strides[3];
    for (int64_t i = first; i <= last; ++i) {
      const bool* m = shown(i);
      if (step == 1)
        for (int64_t j = begin; j < end; ++j)
          any |= m[j], all &= m[j];
      else
        for (int64_t j = begin; j < end; ++j)
          any |= m[j * step], all &= m[j * step];
    }
    return all ? Shown::Everything : any ? Shown::Some : Shown::Nothing;
  }

  // Stores `value` to s[column][row] where a Bool mask hides columns [begin, end) from the n rows from i on.
  void hide_masked(int64_t i, int64_t n, int64_t begin, int64_t end, T value, T* s, int64_t ld) const {
    for (int64_t r = 0; r < n; ++r) {
      const bool* m = shown(i + r);
      for (int64_t j = begin; j < end; ++j)
        if (!m[j * a.mask_strides[3]]) s[(j - begin) * ld + r] = value;
    }
  }
  void add_mask(int64_t i, int64_t n, int64_t begin, int64_t end, T* s, int64_t ld) const {
    for (int64_t r = 0; r < n; ++r) {
      const S* m = reinterpret_cast<const S*>(mask) + (i + r) * a.mask_strides[2];
      for (int64_t j = begin; j < end; ++j)
        s[(j - begin) * ld + r] += convert<T>(m[j * a.mask_strides[3]]);
    }
  }
};

// Calls f(first row, rows, width) for the panels of rows [begin, end), a group or part of one.
template <class F>
inline void panels(int64_t begin, int64_t end, int64_t lanes, F&& f) {
  for (int64_t i = begin; i < end;) {
    int64_t width = end - i > lanes ? 2 * lanes : lanes, n = std::min(width, end - i);
    f(i, n, width);
    i += n;
  }
}

// Runs Work<S, T> for the dtype: S is the type in memory, T the type of the arithmetic.
template <template <class, class> class Work>
void run_attention(const routines::RoutineCall& c, const auto& args) {
  switch (args.dtype) {
    case DType::F32: return Work<float, float>(c, args).run();
    case DType::F64: return Work<double, double>(c, args).run();
    case DType::BF16: return Work<BFloat16, float>(c, args).run();
    case DType::F16: return Work<Float16, float>(c, args).run();
    default: INVARIANT(false, "attention of dtype " << name_of(args.dtype));
  }
}

}  // namespace sheaf::kernels

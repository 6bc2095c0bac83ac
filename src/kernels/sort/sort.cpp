#include "kernels/sort/sort.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "kernels/tasks.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

using routines::CallArgs;
using scalar::BFloat16;
using scalar::Combine;
using scalar::convert;
using scalar::Float16;

constexpr int64_t kTaskElements = 4096;  // worth a thread: some 5 us

template <class T>
constexpr bool kIsNarrowFloat = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <class T>
T* pointer(const CallArgs& c, int i) {
  return reinterpret_cast<T*>(c.buffers[i]);
}

// An unsigned number that orders as x does: both zeros are one, NaN comes last also when descending.
template <class T>
using KeyOf = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
template <class T>
KeyOf<T> key_of(T x, bool descending) {
  using Bits = KeyOf<T>;
  if constexpr (kIsNarrowFloat<T>) {
    return key_of(convert<float>(x), descending);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~Bits{0};
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    Bits bits = std::bit_cast<Bits>(x == 0 ? T(0) : x);
    bits ^= bits & kSign ? ~Bits{0} : kSign;
    return descending ? static_cast<Bits>(~bits) : bits;
  } else {
    Bits bits = static_cast<Bits>(x);
    if constexpr (std::is_signed_v<T>) bits ^= Bits{1} << (8 * sizeof(Bits) - 1);
    return descending ? static_cast<Bits>(~bits) : bits;
  }
}

// A key and where it was; equal keys stay in order of the latter.
template <class Bits>
struct Item;
template <>
struct Item<uint32_t> {
  uint64_t both;
  Item() = default;
  Item(uint32_t key, uint32_t position) : both(uint64_t{key} << 32 | position) {}
  uint32_t key() const { return static_cast<uint32_t>(both >> 32); }
  uint32_t position() const { return static_cast<uint32_t>(both); }
  friend bool operator<(Item a, Item b) { return a.both < b.both; }
};
template <>
struct Item<uint64_t> {
  uint64_t key_;
  uint32_t position_;
  Item() = default;
  Item(uint64_t key, uint32_t position) : key_(key), position_(position) {}
  uint64_t key() const { return key_; }
  uint32_t position() const { return position_; }
  friend bool operator<(Item a, Item b) { return a.key_ != b.key_ ? a.key_ < b.key_ : a.position_ < b.position_; }
};

// By bytes of the key, the least significant first; bytes that all keys share are passed over. Returns where the result
// is.
template <class Bits>
Item<Bits>* sort_by_bytes(Item<Bits>* items, Item<Bits>* spare, int64_t n) {
  uint32_t counts[sizeof(Bits)][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (size_t d = 0; d < sizeof(Bits); ++d)
      ++counts[d][items[i].key() >> (8 * d) & 255];
  for (size_t d = 0; d < sizeof(Bits); ++d) {
    if (counts[d][items[0].key() >> (8 * d) & 255] == n) continue;
    uint32_t next[256], at = 0;
    for (int v = 0; v < 256; ++v)
      next[v] = at, at += counts[d][v];
    for (int64_t i = 0; i < n; ++i)
      spare[next[items[i].key() >> (8 * d) & 255]++] = items[i];
    std::swap(items, spare);
  }
  return items;
}

// The first `count` in order, without the others: most are behind the last of those so far.
template <class T>
void first_items(const T* row, int64_t n, bool descending, Item<KeyOf<T>>* heap, int64_t count) {
  int64_t held = 0;
  for (int64_t i = 0; i < n; ++i) {
    Item<KeyOf<T>> item(key_of(row[i], descending), static_cast<uint32_t>(i));
    if (held == count) {
      if (!(item < heap[0])) continue;
      std::pop_heap(heap, heap + held--);
    }
    heap[held++] = item;
    std::push_heap(heap, heap + held);
  }
  std::sort_heap(heap, heap + held);
}

template <class T>
void sort_in(const CallArgs& c) {
  using Bits = KeyOf<T>;
  constexpr int64_t kFew = 256;  // below this, counting costs more than comparing
  const T* x = pointer<const T>(c, 0);
  T* values = pointer<T>(c, 1);
  int32_t* positions = pointer<int32_t>(c, 2);
  int64_t rows = c.args[1], n = c.args[2], count = c.args[4];
  bool descending = c.args[3] != 0, few = count <= n / 8;
  if (count == 0) return;
  runtime::parallel_for(
      rows,
      [&](int64_t begin, int64_t end) {
        auto row = std::make_unique_for_overwrite<T[]>(n);  // x may be the values' buffer
        auto items = std::make_unique_for_overwrite<Item<Bits>[]>(2 * n);
        for (int64_t r = begin; r < end; ++r) {
          std::copy(x + r * n, x + (r + 1) * n, row.get());
          if (few)
            first_items(row.get(), n, descending, items.get(), count);
          else
            for (int64_t i = 0; i < n; ++i)
              items[i] = Item<Bits>(key_of(row[i], descending), static_cast<uint32_t>(i));
          Item<Bits>* sorted = items.get();
          if (n < kFew && !few)
            std::sort(sorted, sorted + n);
          else if (!few)
            sorted = sort_by_bytes<Bits>(sorted, sorted + n, n);
          for (int64_t i = 0; i < count; ++i) {
            uint32_t from = sorted[i].position();
            values[r * count + i] = row[from];
            positions[r * count + i] = static_cast<int32_t>(from);
          }
        }
      },
      std::max<int64_t>(1, kTaskElements / (4 * n)));
}

template <class T>
using Acc = std::conditional_t<kIsNarrowFloat<T>, float, T>;

// `chains` rows of n elements.
template <class T, Combine combine, int chains>
void run_chains(const T* x, T* y, int64_t n) {
  Acc<T> total[chains];
  for (int r = 0; r < chains; ++r) {
    total[r] = convert<Acc<T>>(x[r * n]);
    y[r * n] = convert<T>(total[r]);
  }
  for (int64_t i = 1; i < n; ++i)
    for (int r = 0; r < chains; ++r) {
      total[r] = scalar::combine<combine>(total[r], convert<Acc<T>>(x[r * n + i]));
      y[r * n + i] = convert<T>(total[r]);
    }
}

template <class T, Combine combine>
void cumulate_by(const CallArgs& c) {
  constexpr int64_t kColumns = 256;
  const T* x = pointer<const T>(c, 0);
  T* y = pointer<T>(c, 1);
  int64_t outer = c.args[1], n = c.args[2], inner = c.args[3];
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    // Each row is a chain of dependent steps: several rows at once keep the arithmetic busy.
    constexpr int kChains = 4;
    runtime::parallel_for(
        pieces(outer, kChains),
        [&](int64_t begin, int64_t end) {
          int64_t row = begin * kChains, last = std::min(outer, end * kChains);
          for (; row + kChains <= last; row += kChains)
            run_chains<T, combine, kChains>(x + row * n, y + row * n, n);
          for (; row < last; ++row)
            run_chains<T, combine, 1>(x + row * n, y + row * n, n);
        },
        std::max<int64_t>(1, kTaskElements / (kChains * n)));
    return;
  }
  int64_t blocks = pieces(inner, kColumns);
  runtime::parallel_for(
      outer * blocks,
      [&](int64_t begin, int64_t end) {
        Acc<T> running[kColumns];
        for (int64_t task = begin; task < end; ++task) {
          int64_t first = task % blocks * kColumns, width = std::min(kColumns, inner - first),
                  at = task / blocks * n * inner + first;
          for (int64_t i = 0; i < n; ++i, at += inner)
            for (int64_t j = 0; j < width; ++j) {
              Acc<T> e = convert<Acc<T>>(x[at + j]);
              running[j] = i == 0 ? e : scalar::combine<combine>(running[j], e);
              y[at + j] = convert<T>(running[j]);
            }
        }
      },
      std::max<int64_t>(1, kTaskElements / (n * std::min(inner, kColumns))));
}

}  // namespace

void sort(const CallArgs& c) {
  scalar::visit_dtype(static_cast<DType>(c.args[0]), [&]<class T>(std::type_identity<T>) { sort_in<T>(c); });
}

void cumulate(const CallArgs& c) {
  scalar::visit_dtype(static_cast<DType>(c.args[0]), [&]<class T>(std::type_identity<T>) {
    switch (c.args[4]) {
      case 0: return cumulate_by<T, Combine::Sum>(c);
      case 1: return cumulate_by<T, Combine::Prod>(c);
      default: return cumulate_by<T, Combine::Max>(c);
    }
  });
}

}  // namespace sheaf::kernels

#include "kernels/sort/sort.h"

#include <algorithm>
#include <memory>

#include "kernels/sort/keys.h"
#include "kernels/sort/long_row.h"
#include "kernels/tasks.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

constexpr int64_t kTaskElements = 4096;  // least elements of a task: some 5 us

// Radix sort by bytes of the key, the least significant first; skips bytes that all keys share. Returns the array that
// holds the result.
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

// Selects the first `count` in sorted order with a bounded heap: most elements come after the last one kept so far.
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
void sort_in(const routines::RoutineCall& c, const routines::SortArgs<>& a) {
  using Bits = KeyOf<T>;
  constexpr int64_t kFew = 256;  // below this, counting digits costs more than comparing
  const T* x = c.buffer<const T>(0);
  T* values = c.buffer<T>(1);
  int32_t* positions = c.buffer<int32_t>(2);
  const int64_t n = a.n, count = a.count;
  const bool descending = a.descending, few = count <= n / 8;
  if (count == 0) return;
  if (!few && is_long_row(n) && a.rows < runtime::num_threads()) {
    for (int64_t r = 0; r < a.rows; ++r)
      sort_long_row(x + r * n, n, descending, values + r * count, positions + r * count, count);
    return;
  }
  runtime::parallel_for(
      a.rows,
      [&](int64_t begin, int64_t end) {
        auto row = std::make_unique_for_overwrite<T[]>(n);  // a copy: `values` may alias x
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

}  // namespace

void sort(const routines::RoutineCall& call, const routines::SortArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) { sort_in<T>(call, args); });
}

}  // namespace sheaf::kernels

// A parallel least-significant-digit radix sort.
// 1. Each thread takes a part of the row, converts it to items and counts the digits of their keys.
// 2. For each digit, from the least significant on, unless all keys share it: the prefix sums of the counts of all
//    parts give the destinations of each part's items. Each thread moves the items of its part in order, so the sort is
//    stable; then the items are divided into parts again and counted for the next digit.
// 3. Values are computed from keys, which avoids random reads of the row.
#include "kernels/sort/long_row.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/sort/keys.h"
#include "kernels/tasks.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

// Longer digits mean fewer passes over memory; the table of destinations still fits in L2.
constexpr int kDigitBits = 11, kValues = 1 << kDigitBits;
constexpr int64_t kKeptBytes = 64 << 20;  // of scratch; larger scratch is freed

struct Counts {
  uint32_t of[kValues];
};

// Calls f(part, begin, end) for each of `parts` parts of n.
template <class F>
void for_parts(int64_t parts, int64_t n, F&& f) {
  runtime::parallel_for(
      parts,
      [&](int64_t first, int64_t last) {
        for (int64_t p = first; p < last; ++p)
          f(p, n * p / parts, n * (p + 1) / parts);
      },
      1);
}

// Replaces the counts of each digit value in each part by the destination of the first such item (prefix sums).
void to_places(std::vector<Counts>& counts) {
  uint32_t at = 0;
  for (int v = 0; v < kValues; ++v)
    for (Counts& part : counts)
      at += std::exchange(part.of[v], at);
}

}  // namespace

template <class T>
void sort_long_row(const T* row, int64_t n, bool descending, T* values, int32_t* positions, int64_t count) {
  using Bits = KeyOf<T>;
  using Entry = Item<Bits>;
  constexpr int kDigits = (8 * sizeof(Bits) + kDigitBits - 1) / kDigitBits;
  const int64_t parts = runtime::num_threads();
  std::unique_ptr<Entry[]> own;
  const bool kept = 2 * n * static_cast<int64_t>(sizeof(Entry)) <= kKeptBytes;
  if (!kept) own = std::make_unique_for_overwrite<Entry[]>(2 * n);
  Entry *items = kept ? scratch<Entry>(0, 2 * n) : own.get(), *spare = items + n;
  std::unique_ptr<T[]> copy;
  if (values == row) {
    copy = std::make_unique_for_overwrite<T[]>(n);
    std::copy(row, row + n, copy.get());
    row = copy.get();
  }

  std::vector<std::vector<Counts>> counts(kDigits, std::vector<Counts>(parts));
  for_parts(parts, n, [&](int64_t p, int64_t begin, int64_t end) {
    Counts mine[kDigits] = {};
    for (int64_t i = begin; i < end; ++i) {
      Bits key = key_of(row[i], descending);
      items[i] = Entry(key, static_cast<uint32_t>(i));
      for (int d = 0; d < kDigits; ++d)
        ++mine[d].of[key >> (kDigitBits * d) & (kValues - 1)];
    }
    for (int d = 0; d < kDigits; ++d)
      counts[d][p] = mine[d];
  });

  bool moved = false;
  for (int d = 0; d < kDigits; ++d) {
    auto digit_of = [d](Entry e) { return e.key() >> (kDigitBits * d) & (kValues - 1); };
    int64_t shared = 0;
    for (const Counts& part : counts[d])
      shared += part.of[digit_of(items[0])];
    if (shared == n) continue;
    if (moved)
      for_parts(parts, n, [&](int64_t p, int64_t begin, int64_t end) {
        Counts mine = {};
        for (int64_t i = begin; i < end; ++i)
          ++mine.of[digit_of(items[i])];
        counts[d][p] = mine;
      });
    to_places(counts[d]);
    for_parts(parts, n, [&](int64_t p, int64_t begin, int64_t end) {
      Counts next = counts[d][p];
      for (int64_t i = begin; i < end; ++i)
        spare[next.of[digit_of(items[i])]++] = items[i];
    });
    std::swap(items, spare);
    moved = true;
  }

  for_parts(parts, count, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Entry e = items[i];
      T value = value_of<T>(e.key(), descending);
      // Keys lose the sign of a zero and the bits of a NaN: read the original element.
      if constexpr (!std::is_integral_v<T>)
        if (auto x = scalar::convert<double>(value); x == 0 || x != x) value = row[e.position()];
      values[i] = value;
      positions[i] = static_cast<int32_t>(e.position());
    }
  });
}

#define SHEAF_SORT_LONG_ROW(T) template void sort_long_row(const T*, int64_t, bool, T*, int32_t*, int64_t);
SHEAF_SORT_LONG_ROW(float)
SHEAF_SORT_LONG_ROW(double)
SHEAF_SORT_LONG_ROW(scalar::BFloat16)
SHEAF_SORT_LONG_ROW(scalar::Float16)
SHEAF_SORT_LONG_ROW(bool)
SHEAF_SORT_LONG_ROW(int8_t)
SHEAF_SORT_LONG_ROW(uint8_t)
SHEAF_SORT_LONG_ROW(int32_t)
SHEAF_SORT_LONG_ROW(uint32_t)
SHEAF_SORT_LONG_ROW(int64_t)
SHEAF_SORT_LONG_ROW(int16_t)
SHEAF_SORT_LONG_ROW(uint16_t)

}  // namespace sheaf::kernels

// Running sums, products, maxima and minima, and linear recurrences. Each is a set of chains of dependent steps (a row
// of a recurrence, or a block of a row of running values): threads split the chains, and each thread interleaves
// several.
#include <algorithm>
#include <memory>

#include "kernels/sort/sort.h"
#include "kernels/tasks.h"
#include "runtime/thread_pool.h"
#include "scalar/scalar_ops.h"

namespace sheaf::kernels {
namespace {

using scalar::Combine;
using scalar::convert;

constexpr int64_t kTaskElements = 4096;  // least elements of a task: some 5 us
constexpr int64_t kColumns = 256;        // adjacent columns along the inner axis that are computed together
constexpr int64_t kRows = 8;             // rows that a thread interleaves if there is no inner axis

template <class T>
using Acc = std::conditional_t<scalar::kIsNarrowFloat<T>, float, T>;

constexpr int kChains = 4;  // rows, or blocks of a row, that a thread interleaves

// Scans `chains` runs of n elements, `apart` elements apart. `before`: on entry the totals of the previous blocks
// (has_before), on return the totals including this block.
template <class T, Combine combine, int chains, bool has_before>
void run_chains(const T* x, T* y, int64_t n, int64_t apart, Acc<T>* before) {
  Acc<T> own[chains], earlier[chains];
  auto total = [&](int r) { return has_before ? scalar::combine<combine>(earlier[r], own[r]) : own[r]; };
  for (int r = 0; r < chains; ++r) {
    own[r] = convert<Acc<T>>(x[r * apart]);
    earlier[r] = has_before ? before[r] : own[r];
    y[r * apart] = convert<T>(total(r));
  }
  for (int64_t i = 1; i < n; ++i)
    for (int r = 0; r < chains; ++r) {
      own[r] = scalar::combine<combine>(own[r], convert<Acc<T>>(x[r * apart + i]));
      y[r * apart + i] = convert<T>(total(r));
    }
  for (int r = 0; r < chains; ++r)
    before[r] = total(r);
}

// Scans whole rows, block after block.
template <class T, Combine combine, int chains>
void run_rows(const T* x, T* y, int64_t n) {
  Acc<T> before[chains];
  run_chains<T, combine, chains, false>(x, y, std::min(routines::kRunningBlock, n), n, before);
  for (int64_t begin = routines::kRunningBlock; begin < n; begin += routines::kRunningBlock)
    run_chains<T, combine, chains, true>(x + begin, y + begin, std::min(routines::kRunningBlock, n - begin), n, before);
}

// The totals of consecutive blocks.
template <class T, Combine combine, int chains>
void block_totals(const T* x, Acc<T>* totals) {
  Acc<T> own[chains];
  for (int r = 0; r < chains; ++r)
    own[r] = convert<Acc<T>>(x[r * routines::kRunningBlock]);
  for (int64_t i = 1; i < routines::kRunningBlock; ++i)
    for (int r = 0; r < chains; ++r)
      own[r] = scalar::combine<combine>(own[r], convert<Acc<T>>(x[r * routines::kRunningBlock + i]));
  std::copy_n(own, chains, totals);
}

// Scans one row with all threads.
// 1. The total of each block but the last. 2. The prefix totals of the blocks, serially. 3. All values.
template <class T, Combine combine>
void run_long_row(const T* x, T* y, int64_t n) {
  constexpr int64_t kBlock = routines::kRunningBlock;
  const int64_t last = (n - 1) / kBlock;
  auto before = std::make_unique_for_overwrite<Acc<T>[]>(last + 1);
  // Calls f.operator()<count>(block) for the blocks [first, last), kChains at a time.
  auto for_blocks = [&](int64_t first, auto f) {
    runtime::parallel_for(
        pieces(last - first, kChains),
        [&](int64_t begin, int64_t end) {
          int64_t block = first + begin * kChains, stop = std::min(last, first + end * kChains);
          for (; block + kChains <= stop; block += kChains)
            f.template operator()<kChains>(block);
          for (; block < stop; ++block)
            f.template operator()<1>(block);
        },
        1);
  };
  for_blocks(
      0, [&]<int count>(int64_t block) { block_totals<T, combine, count>(x + block * kBlock, &before[block + 1]); });
  for (int64_t block = 2; block <= last; ++block)
    before[block] = scalar::combine<combine>(before[block - 1], before[block]);
  run_chains<T, combine, 1, false>(x, y, kBlock, 0, &before[0]);
  for_blocks(1, [&]<int count>(int64_t block) {
    Acc<T> own[count];
    std::copy_n(&before[block], count, own);
    run_chains<T, combine, count, true>(x + block * kBlock, y + block * kBlock, kBlock, kBlock, own);
  });
  run_chains<T, combine, 1, true>(x + last * kBlock, y + last * kBlock, n - last * kBlock, 0, &before[last]);
}

template <class T, Combine combine>
void cumulate_by(const routines::RoutineCall& c, const routines::CumulateArgs<>& a) {
  const T* x = c.buffer<const T>(0);
  T* y = c.buffer<T>(1);
  const int64_t outer = a.outer, n = a.n, inner = a.inner;
  if (n == 0 || inner == 0) return;
  if (inner == 1 && n > routines::kRunningBlock && outer < kChains * runtime::num_threads()) {
    for (int64_t o = 0; o < outer; ++o)
      run_long_row<T, combine>(x + o * n, y + o * n, n);
    return;
  }
  if (inner == 1) {
    runtime::parallel_for(
        pieces(outer, kChains),
        [&](int64_t begin, int64_t end) {
          int64_t row = begin * kChains, last = std::min(outer, end * kChains);
          for (; row + kChains <= last; row += kChains)
            run_rows<T, combine, kChains>(x + row * n, y + row * n, n);
          for (; row < last; ++row)
            run_rows<T, combine, 1>(x + row * n, y + row * n, n);
        },
        std::max<int64_t>(1, kTaskElements / (kChains * n)));
    return;
  }
  int64_t blocks = pieces(inner, kColumns);
  runtime::parallel_for(
      outer * blocks,
      [&](int64_t begin, int64_t end) {
        Acc<T> before[kColumns], own[kColumns];
        for (int64_t task = begin; task < end; ++task) {
          int64_t first = task % blocks * kColumns, width = std::min(kColumns, inner - first),
                  at = task / blocks * n * inner + first;
          for (int64_t i = 0; i < n; ++i, at += inner) {
            const bool begins = i % routines::kRunningBlock == 0, has_before = i >= routines::kRunningBlock;
            for (int64_t j = 0; j < width; ++j) {
              if (begins && has_before)
                before[j] = i == routines::kRunningBlock ? own[j] : scalar::combine<combine>(before[j], own[j]);
              const Acc<T> e = convert<Acc<T>>(x[at + j]);
              own[j] = begins ? e : scalar::combine<combine>(own[j], e);
              y[at + j] = convert<T>(has_before ? scalar::combine<combine>(before[j], own[j]) : own[j]);
            }
          }
        }
      },
      std::max<int64_t>(1, kTaskElements / (n * std::min(inner, kColumns))));
}

// Copies segments of the rows first: rows at power-of-two strides map to few sets of the cache, so that interleaved
// accesses to many rows would evict and fetch the same lines repeatedly.
template <class T, int rows>
void recur_rows(const T* factors, const T* terms, T* s, int64_t n, bool backward) {
  constexpr int64_t kPiece = 64;
  T f[rows][kPiece], t[rows][kPiece], out[rows][kPiece];
  Acc<T> last[rows] = {};
  for (int64_t done = 0; done < n; done += kPiece) {
    const int64_t width = std::min(kPiece, n - done), begin = backward ? n - done - width : done;
    // Backward, an element uses the factor of the next one; the first element processed has none.
    const int64_t ahead = backward ? 1 : 0, known = std::min(width, n - begin - ahead);
    for (int r = 0; r < rows; ++r) {
      std::copy_n(factors + r * n + begin + ahead, known, f[r]);
      std::copy_n(terms + r * n + begin, width, t[r]);
    }
    for (int64_t k = 0; k < width; ++k) {
      const int64_t i = backward ? width - 1 - k : k;
      for (int r = 0; r < rows; ++r) {
        Acc<T> term = convert<Acc<T>>(t[r][i]);
        last[r] = done + k == 0 ? term : term + convert<Acc<T>>(f[r][i]) * last[r];
        out[r][i] = convert<T>(last[r]);
      }
    }
    for (int r = 0; r < rows; ++r)
      std::copy_n(out[r], width, s + r * n + begin);
  }
}

template <class T>
void recur_columns(const T* factors, const T* terms, T* s, int64_t n, int64_t width, int64_t step, int64_t ahead) {
  Acc<T> last[kColumns] = {};
  for (int64_t j = 0; j < width; ++j) {
    last[j] = convert<Acc<T>>(terms[j]);
    s[j] = convert<T>(last[j]);
  }
  for (int64_t k = 1; k < n; ++k) {
    factors += step, terms += step, s += step;
    for (int64_t j = 0; j < width; ++j) {
      last[j] = convert<Acc<T>>(terms[j]) + convert<Acc<T>>(factors[j + ahead]) * last[j];
      s[j] = convert<T>(last[j]);
    }
  }
}

template <class T>
void recur(const routines::RoutineCall& c, const routines::RecurrenceArgs<>& a) {
  const T *factors = c.buffer<const T>(0), *terms = c.buffer<const T>(1);
  T* s = c.buffer<T>(2);
  const int64_t outer = a.outer, n = a.n, inner = a.inner;
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    auto rows = [&]<int count>(int64_t row) {
      recur_rows<T, count>(factors + row * n, terms + row * n, s + row * n, n, a.backward);
    };
    runtime::parallel_for(
        pieces(outer, kRows),
        [&](int64_t begin, int64_t end) {
          int64_t row = begin * kRows, last = std::min(outer, end * kRows);
          for (; row + kRows <= last; row += kRows)
            rows.template operator()<kRows>(row);
          for (; row < last; ++row)
            rows.template operator()<1>(row);
        },
        std::max<int64_t>(1, kTaskElements / (kRows * n)));
    return;
  }
  const int64_t first = a.backward ? n - 1 : 0, step = a.backward ? -1 : 1, ahead = a.backward ? 1 : 0;
  int64_t blocks = pieces(inner, kColumns);
  runtime::parallel_for(
      outer * blocks,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          int64_t column = task % blocks * kColumns, at = (task / blocks * n + first) * inner + column;
          recur_columns(factors + at, terms + at, s + at, n, std::min(kColumns, inner - column), step * inner,
                        ahead * inner);
        }
      },
      std::max<int64_t>(1, kTaskElements / (n * std::min(inner, kColumns))));
}

}  // namespace

void recurrence(const routines::RoutineCall& call, const routines::RecurrenceArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (scalar::kIsFloat<T> || scalar::kIsNarrowFloat<T>) recur<T>(call, args);
  });
}

void cumulate(const routines::RoutineCall& call, const routines::CumulateArgs<>& args) {
  scalar::visit_dtype(args.dtype, [&]<class T>(std::type_identity<T>) {
    switch (args.what) {
      case routines::Running::Sum: return cumulate_by<T, Combine::Sum>(call, args);
      case routines::Running::Product: return cumulate_by<T, Combine::Prod>(call, args);
      case routines::Running::Maximum: return cumulate_by<T, Combine::Max>(call, args);
      case routines::Running::Minimum: return cumulate_by<T, Combine::Min>(call, args);
    }
  });
}

}  // namespace sheaf::kernels

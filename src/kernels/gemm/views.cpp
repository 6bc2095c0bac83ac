// Implicit GEMM: both operands are arrays whose rows and columns begin at known offsets. Tasks are strips of columns by
// groups of rows: a task packs a block of k of its strip of B directly from the array (it stays in L2), and multiplies
// contiguous rows of A. If A has no such rows, it is materialized first: it has few rows, or is small.
#include "kernels/gemm/views.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/long_sum.h"
#include "kernels/gemm/micro_kernels.h"
#include "kernels/gemm/panels.h"
#include "kernels/simd/simd.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::ContractViewsArgs;
using routines::ViewAxes;
using Offsets = std::vector<int64_t>;

// A run of offsets with a step of one or two: contiguous elements, or every second one (a convolution with stride 2).
struct Run {
  int64_t begin, count, step;
};

// Calls f(Run) for the maximal runs of [begin, end).
template <class F>
void each_run(const int64_t* offsets, int64_t begin, int64_t end, F&& f) {
  for (int64_t at = begin, next; at < end; at = next) {
    next = at + 1;
    const int64_t step = next < end ? offsets[next] - offsets[at] : 1;
    if (step == 1 || step == 2)
      while (next < end && offsets[next] == offsets[next - 1] + step)
        ++next;
    f(Run{at, next - at, step});
  }
}

// True if the last axis consists of such runs.
bool has_runs(const ViewAxes<int64_t>& axes) {
  return (axes.strides.back() == 1 || axes.strides.back() == 2) && axes.sizes.back() > 1;
}

// One matrix.
template <class T>
struct Operand {
  const T* data;
  const int64_t *rows, *columns;
  bool runs_of_columns, runs_of_rows;
};

// to[e] = from[e * step] for e < n.
template <class T>
inline void copy_run(T* to, const T* from, int64_t n, int64_t step) {
  if (step == 1) {
    std::memcpy(to, from, n * sizeof(T));
    return;
  }
  int64_t e = 0;
  if constexpr (std::is_same_v<T, float>)
    for (; e + 4 <= n; e += 4) {  // reads nothing past the last element
      const Float4 four = __builtin_shufflevector(load4(from + 2 * e), load4(from + 2 * e + 3), 0, 2, 5, 7);
      std::memcpy(to + e, &four, sizeof four);
    }
  for (; e < n; ++e)
    to[e] = from[e * step];
}

// copy_run for each row l, from `from + rows[l]` to `to + l * width`; a constant n compiles to a few vector moves.
template <class T>
using CopyParts = void (*)(T* to, int64_t width, const T* from, const int64_t* rows, int64_t depth);
template <class T, int64_t n, int64_t step>
void copy_parts(T* to, int64_t width, const T* from, const int64_t* rows, int64_t depth) {
  for (int64_t l = 0; l < depth; ++l)
    copy_run(to + l * width, from + rows[l], n, step);
}
template <class T, int64_t step, size_t... n>
constexpr std::array<CopyParts<T>, sizeof...(n)> copies_of(std::index_sequence<n...>) {
  return {copy_parts<T, n + 1, step>...};
}
template <class T, int64_t step>
constexpr auto kCopies = copies_of<T, step>(std::make_index_sequence<kMaxTileColumns>{});

template <class T>
struct Kernels {
  int64_t lanes;
  void (*row_of_chains)(int64_t n, const T* x, const int64_t* first, const T* from, const int64_t* rows, T* c);
};

#define SHEAF_KERNELS "kernels/gemm/views_code.h"
#include "kernels/simd/instruction_sets.h"

// Packs a panel [depth][width] of the rows [l0, l0 + depth) and columns [j0, j0 + used), padded with zeros.
template <class T>
void pack_view(const GemmKernels<T>& kern, T* to, const Operand<T>& b, int64_t l0, int64_t depth, int64_t j0,
               int64_t used, int64_t width) {
  const int64_t *rows = b.rows + l0, *columns = b.columns + j0;
  if (!b.runs_of_columns && b.runs_of_rows) {
    // Copies column by column in memory order, then transposes.
    T* apart = scratch<T>(3, used * depth);
    for (int64_t j = 0; j < used; ++j)
      each_run(rows, 0, depth, [&](Run run) {
        copy_run(apart + j * depth + run.begin, b.data + columns[j] + rows[run.begin], run.count, run.step);
      });
    return pack_panel(kern, to, MatrixView<T>{apart, depth, 1}, 0, 0, used, width, depth);
  }
  if (used < width) std::fill_n(to, depth * width, T(0));
  if (b.runs_of_columns)
    return each_run(columns, 0, used, [&](Run run) {
      const auto& copies = run.step == 2 ? kCopies<T, 2> : kCopies<T, 1>;
      copies[run.count - 1](to + run.begin, width, b.data + columns[run.begin], rows, depth);
    });
  for (int64_t l = 0; l < depth; ++l)
    for (int64_t j = 0; j < used; ++j)
      to[l * width + j] = b.data[rows[l] + columns[j]];
}

// One row times the columns [begin, end), over the k [from, from + length), in blocks of k with four chains. Columns in
// long runs are read in place, others packed panel by panel.
template <class T>
void row_by_columns(const Operand<T>& a, const Operand<T>& b, T* c, int64_t begin, int64_t end, int64_t from,
                    int64_t length, bool long_runs) {
  constexpr int64_t kChains = routines::kRowChains;
  const GemmKernels<T>& kern = gemm_kernels<T>();
  const int64_t width = kern.columns, block = routines::contract_block(length);
  T* packed = scratch<T>(1, routines::kContractBlock * width);
  const Prefetch nothing{reinterpret_cast<const std::byte*>(b.data), 0, 0, 0, 0};
  auto tile = kern.tiles[kern.form(1)][width / kern.lanes - 1];
  // Reorders k so that those of a chain are adjacent.
  int64_t rows[routines::kContractBlock], first[kChains + 1] = {};
  T x[routines::kContractBlock];
  Operand<T> by_chains = b;
  by_chains.rows = rows;
  for (int64_t l0 = 0; l0 < length; l0 += block) {
    const int64_t depth = std::min(block, length - l0);
    for (int64_t chain = 0, at = 0; chain < kChains; first[++chain] = at)
      for (int64_t l = from + l0 + chain; l < from + l0 + depth; l += kChains, ++at)
        rows[at] = b.rows[l], x[at] = a.data[a.columns[l]];
    auto by_panels = [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; j += width) {
        const int64_t used = std::min(width, end - j);
        T sums[kChains * kMaxTileColumns] = {};
        pack_view(kern, packed, by_chains, 0, depth, j, used, width);
        for (int64_t chain = 0; chain < kChains; ++chain)
          if (const int64_t terms = first[chain + 1] - first[chain]; terms > 0)
            tile(1, terms, x + first[chain], packed + first[chain] * width, sums + chain * width, width, true, nothing);
        for (int64_t e = 0; e < used; ++e)
          c[j + e] = (l0 == 0 ? T(0) : c[j + e]) + routines::sum_of_chains(sums + e, width);
      }
    };
    if (!long_runs || length > block) {
      by_panels(begin, end);
      continue;
    }
    each_run(b.columns, begin, end, [&](Run run) {
      if (run.step == 1 && run.count >= kernels<T>().lanes)
        kernels<T>().row_of_chains(run.count, x, first, b.data + b.columns[run.begin], rows, c + run.begin);
      else
        by_panels(run.begin, run.begin + run.count);
    });
  }
}

// Rows of A, each contiguous along k.
template <class T>
struct RowsOfA {
  const T* data;
  int64_t apart, batch;
};

template <class T>
class ViewProduct {
 public:
  ViewProduct(const routines::RoutineCall& call, const ContractViewsArgs<>& args)
      : a_(call.buffer<const T>(0)), b_(call.buffer<const T>(1)), c_(call.buffer<T>(2)), args_(args) {}

  void run() {
    if (m_ == 1) return run_rows();
    if (k_ <= routines::kContractPart) return run_part(0, k_, c_);
    for (int64_t p = 0; p < args_.batch; ++p)
      LongSum(c_ + p * m_ * n_, m_, n_, k_, true, [&](int64_t from, int64_t depth, T* to, bool) {
        run_strips(rows_of_a(from, depth, p, 1), from, depth, p, 1, to);
      }).run();
  }

 private:
  void run_part(int64_t from, int64_t depth, T* to) {
    run_strips(rows_of_a(from, depth, 0, args_.batch), from, depth, 0, args_.batch, to);
  }

  Operand<T> matrix(int64_t p) const {
    return {b_ + p * args_.b.batch, rows_.data(), columns_.data(), has_runs(args_.b.columns), has_runs(args_.b.rows)};
  }

  void run_rows() {
    constexpr int64_t kColumns = 2048;
    const int64_t strips = pieces(n_, kColumns);
    const bool long_runs = args_.b.columns.strides.back() == 1 && args_.b.columns.sizes.back() >= 2 * kern_.lanes;
    runtime::parallel_for(
        args_.batch * strips,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t p = task / strips, j = task % strips * kColumns, last = std::min(n_, j + kColumns);
            const Operand<T> a{a_ + p * args_.a.batch, nullptr, a_columns_.data(), false, false};
            T* c = c_ + p * n_;
            if (k_ <= routines::kContractPart) {
              row_by_columns(a, matrix(p), c, j, last, 0, k_, long_runs);
              continue;
            }
            LongSum(c + j, 1, last - j, k_, false, [&](int64_t from, int64_t depth, T* to, bool) {
              row_by_columns(a, matrix(p), to - j, j, last, from, depth, false);
            }).run();
          }
        },
        std::max<int64_t>(1, kTaskFlops / (8 * k_ * std::min(n_, kColumns) + 1)));
  }

  // In place if the rows are contiguous and do not map to few cache sets; else copied to scratch memory.
  RowsOfA<T> rows_of_a(int64_t from, int64_t depth, int64_t p, int64_t batch) {
    const ViewAxes<int64_t>&rows = args_.a.rows, &columns = args_.a.columns;
    const bool one_axis = rows.sizes.back() == m_ && columns.sizes.back() == k_;
    if (one_axis && (columns.strides.back() == 1 || k_ == 1) && rows.strides.back() * int64_t(sizeof(T)) % 4096 != 0)
      return {a_ + p * args_.a.batch + from, rows.strides.back(), args_.a.batch};
    const int64_t apart = round_up(depth, kern_.lanes) + kern_.lanes;
    T* to = scratch<T>(0, batch * m_ * apart);
    runtime::parallel_for(
        batch * m_,
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const T* source = a_ + (p + row / m_) * args_.a.batch + a_rows_[row % m_];
            T* out = to + row * apart;
            each_run(a_columns_.data(), from, from + depth, [&](Run run) {
              copy_run(out + run.begin - from, source + a_columns_[run.begin], run.count, run.step);
            });
          }
        },
        std::max<int64_t>(1, (16 << 10) / (depth + 1)));
    return {to, apart, m_ * apart};
  }

  // Computes the products of `batch` matrices from p on, over the `depth` k from `from` on.
  void run_strips(const RowsOfA<T>& a, int64_t from, int64_t depth, int64_t p, int64_t batch, T* to) {
    const int64_t block = routines::contract_block(depth), threads = runtime::num_threads(),
                  most = std::max(wide_,
                                  runtime::host_target().l2_bytes / 4 / (block * int64_t(sizeof(T))) / wide_ * wide_),
                  panels = pieces(n_, wide_),
                  strips = std::max(pieces(n_, most), std::min(panels, batch < threads ? threads : 1)),
                  width = pieces(panels, strips) * wide_;
    // If there are few strips, several tasks compute each; each of them packs B.
    const int64_t wanted = batch * strips >= 2 * threads ? 1 : pieces(2 * threads, batch * strips),
                  tiles = pieces(m_, kern_.small_rows), groups = std::min(wanted, std::max<int64_t>(1, tiles / 4)),
                  height = pieces(tiles, groups) * kern_.small_rows;
    runtime::parallel_for(
        batch * strips * groups,
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t q = task / (strips * groups), j = task / groups % strips * width, i = task % groups * height;
            const int64_t columns = std::min(width, n_ - j), rows = std::min(height, m_ - i);
            if (columns <= 0 || rows <= 0) continue;
            strip({a.data + q * a.batch + i * a.apart, a.apart, 1}, matrix(p + q), to + (q * m_ + i) * n_ + j, rows, j,
                  columns, from, depth, block);
          }
        },
        std::max<int64_t>(1, kTaskFlops / (2 * height * width * depth + 1)));
  }

  void strip(const MatrixView<T>& a, const Operand<T>& b, T* c, int64_t rows, int64_t j0, int64_t columns, int64_t from,
             int64_t depth, int64_t block) {
    T* packed = scratch<T>(1, round_up(columns, wide_) * block);
    for (int64_t l = 0; l < depth; l += block) {
      const int64_t here = std::min(block, depth - l);
      for (int64_t j = 0; j < columns; j += wide_) {
        const int64_t used = std::min(wide_, columns - j);
        pack_view(kern_, packed + j * here, b, from + l, here, j0 + j, used, round_up(used, kern_.lanes));
      }
      for (int64_t i = 0, height; i < rows; i += height)
        multiply(a.at(i, l), a.minor, packed, c + i * n_, height = kern_.direct_height(rows - i), columns, here,
                 l == 0);
    }
  }

  // Multiplies some rows of A by a packed strip.
  void multiply(const T* a, int64_t apart, const T* packed, T* c, int64_t rows, int64_t columns, int64_t depth,
                bool first) const {
    const int form = kern_.direct_form(rows);
    const int64_t tiles = columns / wide_, whole = tiles * wide_, width = round_up(columns - whole, kern_.lanes);
    const Prefetch nothing{reinterpret_cast<const std::byte*>(a), 0, 0, 0, 0};
    if (tiles > 0) kern_.row_tiles[form](tiles, depth, a, apart, nullptr, packed, c, n_, first, nothing);
    for (int64_t j = whole; j < columns; j += kern_.lanes) {
      auto run = [&](T* to, int64_t ld) {
        kern_.by_row[form][0](depth, a, apart, packed + whole * depth + j - whole, width, to, ld, first);
      };
      if (j + kern_.lanes <= columns)
        run(c + j, n_);
      else
        at_edge(c + j, n_, rows, columns - j, first, run);
    }
  }

  const GemmKernels<T>& kern_ = gemm_kernels<T>();
  const int64_t wide_ = kern_.small_vectors * kern_.lanes;
  const T *a_, *b_;
  T* c_;
  const ContractViewsArgs<>& args_;
  const Offsets a_rows_ = offsets(args_.a.rows), a_columns_ = offsets(args_.a.columns), rows_ = offsets(args_.b.rows),
                columns_ = offsets(args_.b.columns);
  const int64_t m_ = static_cast<int64_t>(a_rows_.size()), n_ = static_cast<int64_t>(columns_.size()),
                k_ = static_cast<int64_t>(rows_.size());
};

}  // namespace

void contract_views(const routines::RoutineCall& call, const ContractViewsArgs<>& args) {
  const int64_t m = num_offsets(args.a.rows), k = num_offsets(args.a.columns), n = num_offsets(args.b.columns);
  if (args.batch * m * n == 0) return;
  if (k == 0 || n == 1)  // a product by one column has four chains
    return contract_written_out(call, args, contract);
  if (args.dtype == DType::F32)
    ViewProduct<float>(call, args).run();
  else
    ViewProduct<double>(call, args).run();
}

}  // namespace sheaf::kernels

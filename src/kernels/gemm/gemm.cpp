// The driver of products: runs one product with the chosen algorithm, long sums in parts, batches, and results that are
// rounded to narrow floats.
#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/gemm/algorithms.h"
#include "kernels/gemm/autotune.h"
#include "kernels/gemm/few_rows.h"
#include "kernels/gemm/gemv_bf16_dot.h"
#include "kernels/gemm/integer.h"
#include "kernels/gemm/long_sum.h"
#include "kernels/kernels.h"
#include "kernels/simd/narrow.h"
#include "runtime/target.h"
#include "runtime/thread_pool.h"

namespace sheaf::kernels {
namespace {

using routines::Arithmetic;
using routines::GemmArgs;

constexpr int64_t kTunedFlops = 1 << 14;  // a smaller product takes less time than the lookup of a choice

// One product. S is the type in memory, T the type of the arithmetic.
template <class T, class S>
class Gemm {
 public:
  Gemm(MatrixView<S> a, MatrixView<S> b, T* c, int64_t m, int64_t n, int64_t k, Arithmetic arithmetic,
       const Fusion& fusion = {})
      : a_(a), b_(b), c_(c), m_(m), n_(n), k_(k), rows_(m), columns_(n), fusion_(fusion), arithmetic_(arithmetic) {
    if (n == 1 && m > 1) {  // one column: the transposed product has one row
      std::swap(a_, b_);
      std::swap(m_, n_);
    }
  }

  // `alone`: no other product runs at the same time, so this one can be timed. `usual`: the result of choice().
  void run(bool alone, GemmAlgorithm usual) {
    const bool tunes = alone && tuning() && m_ * n_ * k_ >= kTunedFlops;
    if (fusion_.prologue && (tunes || !takes_rows(usual))) {
      auto& a = rows_ == m_ ? a_ : b_;
      a = with_rows(a, fusion_, 0, rows_, true);
      fusion_.prologue = nullptr;
    }
    const GemmAlgorithm algorithm = tunes ? fastest(usual) : usual;
    if (!fusion_.epilogue || tells_tiles(algorithm)) return run(algorithm, fusion_);
    run(algorithm, {fusion_.prologue, nullptr, fusion_.source});
    (*fusion_.epilogue)({0, rows_, 0, columns_});
  }

  GemmChoice choice() const { return choose(problem()); }

  // True if the tiles for which it calls the epilogue are whole rows.
  bool tells_rows() const {
    const GemmAlgorithm a = choice().algorithm;
    return tells_tiles(a) && (info(a).tells_rows || ((a == GemmAlgorithm::Bf16Dot || a == GemmAlgorithm::Amx) &&
                                                     is_shallow(m_, n_, k_, sizeof(S), sizeof(T))));
  }

 private:
  static constexpr bool kSame = std::is_same_v<T, S>;
  static constexpr DType kDType = std::is_same_v<S, float>      ? DType::F32
                                  : std::is_same_v<S, double>   ? DType::F64
                                  : std::is_same_v<S, BFloat16> ? DType::BF16
                                                                : DType::F16;

  GemmProblem problem() const { return gemm_problem<T>(a_, b_, m_, n_, k_, arithmetic_); }

  GemmAlgorithm fastest(GemmAlgorithm usual) {
    const std::span<const GemmAlgorithmInfo> all = gemm_algorithms();
    std::array<GemmAlgorithm, 16> algorithms;
    std::array<std::string_view, 16> names;
    size_t count = 0;
    auto add = [&](size_t i) { names[count] = all[i].name, algorithms[count++] = static_cast<GemmAlgorithm>(i); };
    const GemmProblem p = problem();
    add(static_cast<size_t>(usual));
    // With bf16 instructions the result has another definition, whose bits no other algorithm gives.
    for (size_t i = 0; i < all.size() && !p.bf16_dot && !p.bf16_tiles; ++i)
      if (i != static_cast<size_t>(usual) && all[i].works(p)) add(i);
    const GemmKey work{kDType, m_, n_, k_, a_.minor, a_.k, b_.minor, b_.k};
    return algorithms[fastest_algorithm(work, {names.data(), count}, [&](size_t i) { run(algorithms[i], {}); })];
  }

  // Products of one row or column do not support fusion.
  bool takes_rows(GemmAlgorithm a) const { return rows_ > 1 && columns_ > 1 && info(a).takes_rows; }
  bool tells_tiles(GemmAlgorithm a) const { return rows_ > 1 && columns_ > 1 && info(a).tells_tiles; }

  void run(GemmAlgorithm algorithm, const Fusion& fusion) {
    switch (algorithm) {
      case GemmAlgorithm::UnpackedA: return gemm_unpacked_a(a_, b_, c_, m_, n_, k_, fusion);
      case GemmAlgorithm::UnpackedB: return gemm_unpacked_b(a_, b_, c_, m_, n_, k_, fusion.epilogue);
      case GemmAlgorithm::Stream: return gemm_stream(a_, b_, c_, m_, n_, k_);
      case GemmAlgorithm::Shallow: return gemm_shallow(a_, b_, c_, m_, n_, k_, fusion);
      case GemmAlgorithm::Packed: return gemm_packed(a_, b_, c_, m_, n_, k_, 0, fusion);
      case GemmAlgorithm::Packed2: return gemm_packed(a_, b_, c_, m_, n_, k_, 1, fusion);
      case GemmAlgorithm::Packed3: return gemm_packed(a_, b_, c_, m_, n_, k_, 2, fusion);
      case GemmAlgorithm::Packed4: return gemm_packed(a_, b_, c_, m_, n_, k_, 3, fusion);
      case GemmAlgorithm::FewRowsTransposed:
        if constexpr (std::is_same_v<T, float>)
          if (gemm_few_rows_transposed(a_, b_, c_, m_, n_, k_)) return;
        break;
      case GemmAlgorithm::FewRowsPacked: break;
      case GemmAlgorithm::Small:
        if constexpr (kSame) return gemm_small(a_, b_, c_, m_, n_, k_, fusion);
        break;
      case GemmAlgorithm::Outer:
        if constexpr (kSame) return gemm_outer(a_, b_, c_, m_, n_, k_, fusion.epilogue);
        break;
      case GemmAlgorithm::Swapped:
        if constexpr (kSame) {
          T* transposed = scratch<T>(2, m_ * n_);
          gemm_packed(b_, a_, transposed, n_, m_, k_);
          return transpose(c_, n_, transposed, m_, m_, n_);
        }
        break;
      case GemmAlgorithm::Bf16Dot:
        if constexpr (std::is_same_v<S, BFloat16>)
          return m_ == 1 ? gemv_bf16_dot(a_, b_, c_, n_, k_) : gemm_bf16_dot(a_, b_, c_, m_, n_, k_, fusion);
        break;
      case GemmAlgorithm::Amx:
        if constexpr (std::is_same_v<S, BFloat16>) return gemm_amx(a_, b_, c_, m_, n_, k_, fusion);
        break;
    }
    gemm_few_rows_packed(a_, b_, c_, m_, n_, k_);
  }

  MatrixView<S> a_, b_;
  T* c_;
  int64_t m_, n_, k_;
  int64_t rows_, columns_;  // of C, before m and n are swapped
  Fusion fusion_;
  Arithmetic arithmetic_;
};

// Runs one product, in parts if the sum is long. `usual`: the algorithm for a sum that is not long.
template <class T, class S>
void multiply(const MatrixView<S>& a, const MatrixView<S>& b, T* c, int64_t m, int64_t n, int64_t k,
              Arithmetic arithmetic, bool alone, GemmAlgorithm usual, const Fusion& fusion) {
  if (k <= routines::kContractPart) return Gemm<T, S>(a, b, c, m, n, k, arithmetic, fusion).run(alone, usual);
  const MatrixView<S> whole = with_rows(a, fusion, 0, m, true);
  // At least two rows, unless the product has only one: a single row is summed in another order.
  int64_t strips = std::max<int64_t>(1, std::min(m / 2, pieces(m * n, kPackedElements)));
  for (int64_t s = 0; s < strips; ++s) {
    int64_t first = m * s / strips, last = m * (s + 1) / strips;
    const int64_t rows = last - first;
    LongSum(c + first * n, rows, n, k, alone, [&](int64_t from, int64_t depth, T* to, bool alone) {
      Gemm<T, S> part({whole.at(first, from), a.minor, a.k}, {b.at(0, from), b.minor, b.k}, to, rows, n, depth,
                      arithmetic);
      part.run(alone, part.choice().algorithm);
    }).run();
    if (fusion.epilogue) (*fusion.epilogue)({first, rows, 0, n});
  }
}

// Calls one(p, alone) for each matrix of the batch: several small ones concurrently, or each with all threads.
template <class F>
void for_batch(const GemmArgs<>& g, F&& one) {
  int64_t flops = 2 * g.m * g.n * g.k + 1;
  if (flops > 8 * kTaskFlops || g.batch == 1) {
    for (int64_t p = 0; p < g.batch; ++p)
      one(p, true);
  } else {
    runtime::parallel_for(
        g.batch,
        [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p)
            one(p, false);
        },
        std::max<int64_t>(1, kTaskFlops / flops));
  }
}

template <class S>
using SumOf = std::conditional_t<std::is_same_v<S, double>, double, float>;

// A Gemm without memory, to query its choice in advance: for one pair of matrices; for a long sum, its first part.
template <class S>
Gemm<SumOf<S>, S> without_memory(const GemmArgs<>& g, Arithmetic arithmetic) {
  return {{nullptr, g.a.row, g.a.column},
          {nullptr, g.b.column, g.b.row},
          nullptr,
          g.m,
          g.n,
          std::min(g.k, routines::contract_part(g.k)),
          arithmetic};
}

template <class S>
void contract_floats(const routines::RoutineCall& call, const GemmArgs<>& g, const Fusion& fusion = {}) {
  using T = SumOf<S>;
  const S *a = call.buffer<const S>(0), *b = call.buffer<const S>(1);
  S* c = call.buffer<S>(2);
  const bool wide_result = !std::is_same_v<S, T> && g.result == DType::F32;
  if (g.k == 0) {
    std::memset(c, 0, g.batch * g.m * g.n * (wide_result ? sizeof(T) : sizeof(S)));
    if (fusion.epilogue) (*fusion.epilogue)({0, g.m, 0, g.n});
    return;
  }
  const GemmAlgorithm usual = without_memory<S>(g, call.arithmetic).choice().algorithm;  // for all of the batch
  for_batch(g, [&](int64_t p, bool alone) {
    MatrixView<S> x{a + p * g.a.batch, g.a.row, g.a.column}, y{b + p * g.b.batch, g.b.column, g.b.row};
    S* out = c + p * g.m * g.n;
    if constexpr (std::is_same_v<S, T>) {
      multiply(x, y, out, g.m, g.n, g.k, call.arithmetic, alone, usual, fusion);
    } else if (wide_result) {
      multiply(x, y, call.buffer<T>(2) + p * g.m * g.n, g.m, g.n, g.k, call.arithmetic, alone, usual, fusion);
    } else {
      if constexpr (std::is_same_v<S, BFloat16>)
        if (usual == GemmAlgorithm::Amx && g.k <= routines::kContractPart)
          return gemm_amx(x, y, out, g.m, g.n, g.k, fusion);
      T* wide = scratch<T>(2, g.m * g.n);
      const auto round = [&](const runtime::Tile& part) {
        const bool whole = part.columns == g.n;
        const int64_t rows = whole ? 1 : part.rows, columns = whole ? part.rows * g.n : part.columns;
        runtime::parallel_for(
            rows * columns,
            [&](int64_t begin, int64_t end) {
              for (int64_t at = begin, here; at < end; at += here) {
                const int64_t r = at / columns, e = at - r * columns, from = (part.row + r) * g.n + part.column + e;
                here = std::min(columns - e, end - at);
                narrow(out + from, wide + from, here);
              }
            },
            1 << 16);
        if (fusion.epilogue) (*fusion.epilogue)(part);
      };
      const EpilogueFn rounded(round);
      multiply(x, y, wide, g.m, g.n, g.k, call.arithmetic, alone, usual, {fusion.prologue, &rounded, fusion.source});
    }
  });
}

// Calls f(std::type_identity<S>{}) with the C++ type if dtype is a float; returns whether it is one.
template <class F>
bool visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32: return f(std::type_identity<float>{}), true;
    case DType::F64: return f(std::type_identity<double>{}), true;
    case DType::BF16: return f(std::type_identity<BFloat16>{}), true;
    case DType::F16: return f(std::type_identity<Float16>{}), true;
    default: return false;
  }
}

template <class S>
class FusedGemm final : public runtime::FusedProduct {
 public:
  FusedGemm(const GemmArgs<>& args, Arithmetic arithmetic) : args_(args), arithmetic_(arithmetic) {}
  void run(std::span<std::byte* const> buffers, const Fusion& fusion) const override {
    contract_floats<S>({buffers, arithmetic_}, args_, fusion);
  }
  bool completes_rows() const override {
    return args_.k <= routines::kContractPart && without_memory<S>(args_, arithmetic_).tells_rows();
  }

 private:
  GemmArgs<> args_;
  Arithmetic arithmetic_;
};

// A leading dimension larger than n. No plan for a processor uses it, so this is simple and slow: computes contiguous
// rows, then copies them.
void contract_in_lines(const routines::RoutineCall& call, GemmArgs<> g) {
  const int64_t rows = g.batch * g.m, bytes = g.n * size_bytes(g.result), line_bytes = g.line * size_bytes(g.result);
  g.line = 0;
  std::vector<std::byte> whole(static_cast<size_t>(rows * bytes));
  std::vector<std::byte*> buffers(call.buffers.begin(), call.buffers.end());
  buffers[2] = whole.data();
  kernels::contract({buffers, call.arithmetic}, g);
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(call.buffers[2] + i * line_bytes, whole.data() + i * bytes, static_cast<size_t>(bytes));
}

}  // namespace

void contract(const routines::RoutineCall& call, const GemmArgs<>& args) {
  if (args.batch <= 0 || args.m <= 0 || args.n <= 0) return;
  if (routines::line_of(args) != args.n) return contract_in_lines(call, args);
  if (!visit_float(args.dtype, [&]<class S>(std::type_identity<S>) { contract_floats<S>(call, args); }))
    contract_integers(call, args);
}

GemmPlan gemm_plan(const GemmArgs<>& args, Arithmetic arithmetic) {
  GemmPlan out;
  if (args.m > 0 && args.n > 0 && args.k > 0)
    visit_float(args.dtype, [&]<class S>(std::type_identity<S>) {
      const GemmChoice c = without_memory<S>(args, arithmetic).choice();
      out = {info(c.algorithm).name, c.why};
    });
  return out;
}

std::shared_ptr<const runtime::FusedProduct> fused_product(const GemmArgs<>& args, const runtime::Target& target) {
  std::shared_ptr<const runtime::FusedProduct> out;
  visit_float(args.dtype, [&]<class S>(std::type_identity<S>) {
    out = std::make_shared<FusedGemm<S>>(args, arithmetic_of(target));
  });
  return out;
}

}  // namespace sheaf::kernels
